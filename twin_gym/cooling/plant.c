/* The native cooling plant of twin_gym as an FMI 2.0 co-simulation unit: the same equations as kernels/cooling.py and
   kernels/tower.py, step by step. parameters.h, written beside it, holds CDUS, the plant's parameters (P_...), its state
   at the time of export and GUID. Units: degC, kg/s, W, s. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "parameters.h"

#define CP 4186.0
#define DENSITY 998.0
#define PIPE 4
#define EVAPORATION_HEAT 2.45e6
#define ELASTICITY 0.7
#define REMOVE_BELOW 0.95
#define AUTOMATIC (-1000.0) /* a control at or below it leaves the plant's own controls alone */

enum { TOWER_SET, CDU_SET, PRIMARY_FLOW, FAN, CONTROLS };
enum {
    SUPPLY, PRIMARY_RETURN, TOWER_SUPPLY, TOWER_RETURN, FLOW, TOWER_FLOW, CELLS, UNITS, FAN_SPEED, TOWER_SETPOINT,
    CDU_SETPOINT, CDU_PUMP_POWER, PRIMARY_PUMP_POWER, TOWER_PUMP_POWER, FAN_POWER, CHILLER_POWER, COOLING_POWER, HEAT,
    SHAFT, REJECTED, MAKEUP_WATER, OUTPUTS
};

typedef struct {
    double supply[PIPE], back[PIPE], cold, hot, least, tower_flow, tower_set, cdu_set, fan, cells, since_up, since_down;
    double loop[CDUS], valves[CDUS], heat[CDUS], cdu_supply[CDUS];
    double wet_bulb, controls[CONTROLS], out[OUTPUTS];
} Plant;

static const double YORK[3][3][3] = {
    {{-0.359741205, -0.055053608, 0.0023850432},
     {0.173926877, -0.0248473764, 0.00048430224},
     {-0.005589849456, 0.0005770079712, -1.342427256e-5}},
    {{2.84765801111111, -0.121765149, 0.0014599242},
     {1.680428651, -0.0166920786, -0.0007190532},
     {-0.025485194448, 4.87491696e-5, 2.719234152e-5}},
    {{-0.0653766255555556, -0.002278167, 0.0002500254},
     {-0.0910565458, 0.00318176316, 3.8621772e-5},
     {-0.0034285382352, 8.56589904e-6, -1.516821552e-6}}};

static double clip(double value, double low, double high) { return fmin(fmax(value, low), high); }
static double toward(double value, double target, double most) { return value + clip(target - value, -most, most); }
static double by_weather(const double c[3], double t) { return c[0] + t * (c[1] + t * c[2]); }

static double leaving(double inlet, double wet_bulb, double water, double air) {
    double a[3] = {0.0, 0.0, 0.0}, power = 1.0, ratio, b, c, root, drop;
    wet_bulb = clip(wet_bulb, -34.4, 26.7);
    ratio = water / fmax(air, water / 8.0);
    for (int i = 0; i < 3; i++, power *= ratio)
        for (int j = 0; j < 3; j++) a[j] += power * by_weather(YORK[i][j], wet_bulb);
    b = a[1] + 1.0;
    c = a[0] + wet_bulb - inlet;
    if (c >= 0.0) return inlet;
    root = b * b - 4.0 * a[2] * c;
    drop = root > 0.0 ? -2.0 * c / (b + sqrt(root)) : -b / (2.0 * a[2]);
    return fmax(inlet - drop, wet_bulb);
}

static double air_for(double inlet, double target, double wet_bulb, double water) {
    double c[3] = {0.0, 0.0, 0.0}, power = 1.0, root, ratio;
    wet_bulb = clip(wet_bulb, -34.4, 26.7);
    if (target - wet_bulb <= 0.0) return 1e3;
    for (int j = 0; j < 3; j++, power *= inlet - target)
        for (int i = 0; i < 3; i++) c[i] += power * by_weather(YORK[i][j], wet_bulb);
    c[0] -= target - wet_bulb;
    root = c[1] * c[1] - 4.0 * c[2] * c[0];
    if (root < 0.0 || c[1] + sqrt(root) == 0.0) return 1e3;
    ratio = -2.0 * c[0] / (c[1] + sqrt(root));
    return ratio > 0.0 ? water / ratio : 1e3;
}

static double without_fan(double inlet, double wet_bulb, double water) {
    return inlet - P_free * (inlet - leaving(inlet, wet_bulb, water, 1.0));
}

static double cell_leaving(double inlet, double wet_bulb, double water, double speed) {
    double off;
    if (speed >= P_fan_min) return leaving(inlet, wet_bulb, water, speed);
    off = without_fan(inlet, wet_bulb, water);
    return off - speed / P_fan_min * (off - leaving(inlet, wet_bulb, water, P_fan_min));
}

static double speed_with(const Plant *m, double cells, double flow) {
    double water = flow / cells / P_cell_reference, off = without_fan(m->hot, m->wet_bulb, water), slow;
    if (off <= m->tower_set) return 0.0;
    slow = leaving(m->hot, m->wet_bulb, water, P_fan_min);
    if (slow < m->tower_set) return P_fan_min * (off - m->tower_set) / (off - slow);
    return fmax(air_for(m->hot, m->tower_set, m->wet_bulb, water), P_fan_min);
}

static double effectiveness(double ua, double small, double large) {
    double units = ua / small, ratio = small / large, decay;
    if (1.0 - ratio < 1e-6) return units / (1.0 + units);
    decay = exp(-units * (1.0 - ratio));
    return (1.0 - decay) / (1.0 - ratio * decay);
}

static double cdu_conductance(double flow) {
    double hot = P_cdu_film_hot, cold = P_cdu_film_cold * pow(flow / P_cdu_reference, P_cdu_exponent);
    double primary = flow * CP, secondary = P_cdu_flow * P_cdu_cp, small = fmin(primary, secondary);
    return effectiveness(hot * cold / (hot + cold), small, fmax(primary, secondary)) * small;
}

static double pump_shaft(double flow, double constant, double loss, double efficiency) {
    return flow / DENSITY * (constant + loss * flow * flow) / efficiency;
}

static void step_plant(Plant *m, double dt) {
    double *out = m->out, *asked = m->controls;
    double wish, setpoint, supply, valve, taken = 0.0, total = 0.0, given = 0.0, flow, mixed, moved;
    double primary_shaft, inlet, units = 1.0, tower_flow = m->tower_flow, tower_shaft, cold, ua, cooled, chilled = 0.0;
    double chiller, warmed, demand, base, water, speed, gone, fans, rejected, pumps, share, evaporated, drift, part, target;

    wish = asked[TOWER_SET] <= AUTOMATIC ? P_set_base + P_set_slope * m->wet_bulb : asked[TOWER_SET];
    m->tower_set = toward(m->tower_set, clip(wish, P_set_low, P_set_high), P_set_rate * dt);
    wish = asked[CDU_SET] <= AUTOMATIC ? P_cdu_supply : clip(asked[CDU_SET], P_cdu_low, P_cdu_high);
    m->cdu_set = toward(m->cdu_set, wish, P_set_rate * dt);
    setpoint = fmax(m->cdu_set, m->tower_set + P_cdu_over);

    supply = m->supply[PIPE - 1];
    valve = P_valve_tau > 0.0 ? 1.0 - exp(-dt / P_valve_tau) : 1.0;
    for (int i = 0; i < CDUS; i++) {
        double into = P_liquid * m->heat[i] + P_cdu_shaft, temperature = m->loop[i], own = m->valves[i];
        double wanted = P_cdu_flow * P_cdu_cp * (temperature - setpoint), difference = temperature - supply;
        double conductance = cdu_conductance(own), capacity = P_cdu_mass * P_cdu_cp / dt;
        taken += own;
        target = P_cdu_min;
        if (wanted > 0.0) {
            target = P_cdu_max;
            if (difference > 1e-6) {
                double ask = own * (1.0 + (wanted / (difference * conductance) - 1.0) / ELASTICITY);
                target = fmin(fmin(fmax(fmax(ask, 0.5 * own), P_cdu_min), 2.0 * own), P_cdu_max);
            }
        }
        temperature = (capacity * temperature + into + conductance * supply) / (capacity + conductance);
        moved = conductance * (temperature - supply);
        m->loop[i] = temperature;
        m->valves[i] = own + valve * (target - own);
        m->cdu_supply[i] = temperature - moved / (P_cdu_flow * P_cdu_cp);
        total += moved;
        given += P_liquid * m->heat[i];
    }
    wish = asked[PRIMARY_FLOW] <= AUTOMATIC ? P_primary_min : clip(asked[PRIMARY_FLOW], 0.0, CDUS * P_cdu_max);
    m->least = toward(m->least, wish, P_pump_rate * (CDUS * P_cdu_max) * dt);
    flow = fmax(fmax(taken, m->least), 1e-9);
    mixed = supply + total / (flow * CP);

    primary_shaft = pump_shaft(flow, P_primary_dp, P_primary_loss, P_primary_eta);
    inlet = m->back[PIPE - 1] + primary_shaft / (flow * CP);
    for (int k = 1; k < (int)P_units; k++)
        if (m->cells >= k * P_cells / P_units) units = k + 1.0;
    tower_shaft = pump_shaft(tower_flow, P_tower_dp, P_tower_loss, P_tower_eta);
    cold = m->cold + tower_shaft / (tower_flow * CP);
    ua = units * P_unit_ua * 2.0 /
         (pow(flow / units / P_unit_hot, -P_unit_exponent) + pow(tower_flow / units / P_unit_cold, -P_unit_exponent));
    moved = effectiveness(ua, fmin(flow, tower_flow) * CP, fmax(flow, tower_flow) * CP) * fmin(flow, tower_flow) * CP *
            (inlet - cold);
    cooled = inlet - moved / (flow * CP);
    if (P_chiller > 0.0) {
        chilled = fmax(flow * CP * (cooled - P_chiller_supply), 0.0);
        cooled -= chilled / (flow * CP);
    }
    chiller = P_chiller > 0.0 ? chilled / P_cop : 0.0;
    warmed = cold + (moved + chilled + chiller) / (tower_flow * CP);

    demand = moved + chilled + chiller + tower_shaft;
    base = fmin(fmax(ceil(tower_flow / P_cell_flow - 1e-9), P_cells_min), P_cells);
    m->since_up += dt;
    m->since_down += dt;
    if (m->since_up >= P_cell_up && m->cells < P_cells && (m->cells < base || speed_with(m, m->cells, tower_flow) > 1.0)) {
        m->cells += 1.0;
        m->since_up = 0.0;
    }
    if (m->since_down >= P_cell_down && m->cells > base && speed_with(m, m->cells - 1.0, tower_flow) < REMOVE_BELOW) {
        m->cells -= 1.0;
        m->since_down = 0.0;
    }
    water = tower_flow / m->cells / P_cell_reference;
    speed = asked[FAN] <= AUTOMATIC ? speed_with(m, m->cells, tower_flow) : asked[FAN];
    m->fan = toward(m->fan, clip(speed, 0.0, 1.0), P_fan_rate * dt);
    gone = cell_leaving(m->hot, m->wet_bulb, water, m->fan);
    fans = m->fan >= P_fan_min ? m->cells * P_fan_w * pow(m->fan, P_fan_exponent)
                               : m->cells * P_fan_w * pow(P_fan_min, P_fan_exponent) * m->fan / P_fan_min;
    rejected = tower_flow * CP * (m->hot - gone);

    out[SUPPLY] = supply;
    out[PRIMARY_RETURN] = mixed;
    out[TOWER_SUPPLY] = m->cold;
    out[TOWER_RETURN] = m->hot;
    out[FLOW] = flow;
    out[TOWER_FLOW] = tower_flow;
    out[CELLS] = m->cells;
    out[UNITS] = units;
    out[FAN_SPEED] = m->fan;
    out[TOWER_SETPOINT] = m->tower_set;
    out[CDU_SETPOINT] = setpoint;
    pumps = CDUS * P_cdu_shaft;
    out[CDU_PUMP_POWER] += dt * pumps / P_wire;
    out[PRIMARY_PUMP_POWER] += dt * primary_shaft / P_wire;
    out[TOWER_PUMP_POWER] += dt * tower_shaft / P_wire;
    out[FAN_POWER] += dt * fans;
    out[CHILLER_POWER] += dt * chiller;
    out[COOLING_POWER] += dt * ((pumps + primary_shaft + tower_shaft) / P_wire + fans + chiller + P_overhead);
    out[HEAT] += dt * given;
    out[SHAFT] += dt * (pumps + primary_shaft + tower_shaft + chiller);
    out[REJECTED] += dt * rejected;
    share = clip(0.69 + 0.0155 * (m->wet_bulb - 5.0), 0.5, 1.1);
    evaporated = share * fmax(rejected, 0.0) / EVAPORATION_HEAT;
    drift = P_drift * tower_flow * m->fan;
    out[MAKEUP_WATER] += dt * (evaporated + drift + fmax(evaporated / (P_cycles - 1.0) - drift, 0.0));

    part = flow * dt / (P_supply_mass / PIPE);
    for (int k = PIPE - 1; k > 0; k--) m->supply[k] += part * (m->supply[k - 1] - m->supply[k]);
    m->supply[0] += part * (cooled - m->supply[0]);
    part = flow * dt / (P_return_mass / PIPE);
    for (int k = PIPE - 1; k > 0; k--) m->back[k] += part * (m->back[k - 1] - m->back[k]);
    m->back[0] += part * (mixed - m->back[0]);
    m->cold += tower_flow * dt / P_cold_mass * (gone - m->cold);
    m->hot += tower_flow * dt / P_hot_mass * (warmed - m->hot);
    target = clip(fmax(demand / (CP * P_range), P_over_primary * flow), P_tower_min, P_tower_max);
    m->tower_flow = toward(tower_flow, target, P_pump_rate * P_tower_max * dt);
}

/* ------------------------------------------------------------------------------------------------ FMI 2.0 */

static void begin(Plant *m) {
    const double supply[PIPE] = S_supply, back[PIPE] = S_back, loop[CDUS] = S_loop, valves[CDUS] = S_valves;
    memset(m, 0, sizeof *m);
    memcpy(m->supply, supply, sizeof supply);
    memcpy(m->back, back, sizeof back);
    memcpy(m->loop, loop, sizeof loop);
    memcpy(m->valves, valves, sizeof valves);
    memcpy(m->cdu_supply, loop, sizeof loop);
    m->cold = S_cold;
    m->hot = S_hot;
    m->least = S_least;
    m->tower_flow = S_tower_flow;
    m->tower_set = S_tower_set;
    m->cdu_set = S_cdu_set;
    m->fan = S_fan;
    m->cells = S_cells;
    m->since_up = S_since_up;
    m->since_down = S_since_down;
    m->wet_bulb = S_wet_bulb;
    for (int k = 0; k < CONTROLS; k++) m->controls[k] = AUTOMATIC;
}

/* references: 0 wet bulb, 1.. controls, 10.. outputs, 1000.. heat, 2000.. CDU supply, 3000.. return, 4000.. flow */
static double *place(Plant *m, fmi2ValueReference r) {
    if (r == 0) return &m->wet_bulb;
    if (r >= 1 && r < 1 + CONTROLS) return &m->controls[r - 1];
    if (r >= 10 && r < 10 + OUTPUTS) return &m->out[r - 10];
    if (r >= 1000000 && r < 1000000 + CDUS) return &m->heat[r - 1000000];
    if (r >= 2000000 && r < 2000000 + CDUS) return &m->cdu_supply[r - 2000000];
    if (r >= 3000000 && r < 3000000 + CDUS) return &m->loop[r - 3000000];
    if (r >= 4000000 && r < 4000000 + CDUS) return &m->valves[r - 4000000];
    return NULL;
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[]) {
    (void)c, (void)on, (void)n, (void)names;
    return fmi2OK;
}
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String folder,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging) {
    Plant *m;
    (void)name, (void)folder, (void)functions, (void)visible, (void)logging;
    if (type != fmi2CoSimulation || strcmp(guid, GUID) != 0) return NULL;
    m = malloc(sizeof *m);
    if (m != NULL) begin(m);
    return m;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean d, fmi2Real t, fmi2Real start, fmi2Boolean e, fmi2Real stop) {
    (void)c, (void)d, (void)t, (void)start, (void)e, (void)stop;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }
fmi2Status fmi2Terminate(fmi2Component c) { return c ? fmi2OK : fmi2Error; }
fmi2Status fmi2Reset(fmi2Component c) {
    begin(c);
    return fmi2OK;
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) {
        const double *found = place(c, r[i]);
        if (found == NULL) return fmi2Error;
        v[i] = *found;
    }
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) {
        double *found = place(c, r[i]);
        if (found == NULL) return fmi2Error;
        *found = v[i];
    }
    return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean final) {
    Plant *m = c;
    int parts = (int)fmax(ceil(step / P_step - 1e-9), 1.0);
    (void)time, (void)final;
    if (!(step > 0.0)) return fmi2Error;
    for (int k = CDU_PUMP_POWER; k < OUTPUTS; k++) m->out[k] = 0.0;
    for (int k = 0; k < parts; k++) step_plant(m, step / parts);
    for (int k = CDU_PUMP_POWER; k < OUTPUTS; k++) m->out[k] /= step;
    return fmi2OK;
}
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) {
    if (*state == NULL) *state = malloc(sizeof(Plant));
    if (*state == NULL) return fmi2Error;
    memcpy(*state, c, sizeof(Plant));
    return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
    memcpy(c, state, sizeof(Plant));
    return fmi2OK;
}
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
    (void)c, (void)state;
    *size = sizeof(Plant);
    return fmi2OK;
}
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    (void)c;
    if (size != sizeof(Plant)) return fmi2Error;
    memcpy(bytes, state, size);
    return fmi2OK;
}
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    (void)c;
    if (size != sizeof(Plant)) return fmi2Error;
    if (*state == NULL) *state = malloc(size);
    if (*state == NULL) return fmi2Error;
    memcpy(*state, bytes, size);
    return fmi2OK;
}

/* what a plant of real numbers does not have */
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Integer v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Boolean v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2String v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Integer v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Boolean v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2String v[]) {
    (void)c, (void)r, (void)v;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference u[], size_t n,
                                        const fmi2ValueReference k[], size_t m, const fmi2Real d[], fmi2Real v[]) {
    (void)c, (void)u, (void)n, (void)k, (void)m, (void)d, (void)v;
    return fmi2Error;
}
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Integer o[],
                                       const fmi2Real v[]) {
    (void)c, (void)r, (void)n, (void)o, (void)v;
    return fmi2Error;
}
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Integer o[],
                                        fmi2Real v[]) {
    (void)c, (void)r, (void)n, (void)o, (void)v;
    return fmi2Error;
}
fmi2Status fmi2CancelStep(fmi2Component c) {
    (void)c;
    return fmi2Error;
}
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind k, fmi2Status *v) {
    (void)c, (void)k, (void)v;
    return fmi2Discard;
}
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind k, fmi2Real *v) {
    (void)c, (void)k, (void)v;
    return fmi2Discard;
}
fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind k, fmi2Integer *v) {
    (void)c, (void)k, (void)v;
    return fmi2Discard;
}
fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind k, fmi2Boolean *v) {
    (void)c, (void)k, (void)v;
    return fmi2Discard;
}
fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind k, fmi2String *v) {
    (void)c, (void)k, (void)v;
    return fmi2Discard;
}
