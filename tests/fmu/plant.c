/* A small cooling plant of three CDUs as an FMU for the tests: FMI 2, or FMI 3 with -DFMI3; -DNO_STATE: no get/set state,
   and one instance for each process. Each CDU is a volume that heats up and is cooled towards the wet bulb. */

#include <stdlib.h>
#include <string.h>

#ifdef FMI3
#include "fmi3Functions.h"
typedef fmi3ValueReference Ref;
typedef fmi3Status Status;
typedef fmi3Float64 Real;
#define OK fmi3OK
#define FAIL fmi3Error
#else
#include "fmi2Functions.h"
typedef fmi2ValueReference Ref;
typedef fmi2Status Status;
typedef fmi2Real Real;
#define OK fmi2OK
#define FAIL fmi2Error
#endif

#define CDUS 3
#define CAPACITY 4.0e6     /* J/K of each volume */
#define CONDUCTANCE 5.0e4  /* W/K to the air */

typedef struct {
    double time, heat[CDUS], wet_bulb, wish, temperature[CDUS], power;
} Plant;

static int instances = 0;

static Plant *make(void) {
#ifdef NO_STATE
    if (instances > 0) return NULL;
#endif
    Plant *plant = calloc(1, sizeof(Plant));
    plant->wet_bulb = 283.15;
    plant->wish = 0.0;
    for (int i = 0; i < CDUS; i++) plant->temperature[i] = 293.15;
    instances++;
    return plant;
}

/* references: 1-3 heat [W], 4 wet bulb [K], 5 wish for the supply [K, 0: none], 11-13 temperature [K], 14 power [kW] */
static Status write_real(Plant *plant, Ref reference, double value) {
    if (reference >= 1 && reference <= CDUS) plant->heat[reference - 1] = value;
    else if (reference == 4) plant->wet_bulb = value;
    else if (reference == 5) plant->wish = value;
    else return FAIL;
    return OK;
}

static Status read_real(Plant *plant, Ref reference, double *value) {
    if (reference >= 11 && reference < 11 + CDUS) *value = plant->temperature[reference - 11];
    else if (reference == 14) *value = plant->power / 1000.0;
    else return FAIL;
    return OK;
}

static Status work(Plant *plant, double seconds) {
    double least = plant->wish > plant->wet_bulb ? plant->wish : plant->wet_bulb;
    plant->power = 0.0;
    for (int i = 0; i < CDUS; i++) {
        double cooled = CONDUCTANCE * (plant->temperature[i] - least);
        if (plant->temperature[i] > 373.15) return FAIL;
        plant->temperature[i] += seconds * (plant->heat[i] - cooled) / CAPACITY;
        plant->power += 0.05 * cooled;
    }
    plant->time += seconds;
    return OK;
}

#ifdef FMI3

const char *fmi3GetVersion(void) { return fmi3Version; }
fmi3Instance fmi3InstantiateCoSimulation(fmi3String n, fmi3String t, fmi3String r, fmi3Boolean v, fmi3Boolean l,
    fmi3Boolean e, fmi3Boolean a, const fmi3ValueReference q[], size_t c, fmi3InstanceEnvironment en,
    fmi3LogMessageCallback lm, fmi3IntermediateUpdateCallback iu) {
    (void)n; (void)t; (void)r; (void)v; (void)l; (void)e; (void)a; (void)q; (void)c; (void)en; (void)lm; (void)iu;
    return make();
}
void fmi3FreeInstance(fmi3Instance p) { free(p); instances--; }
fmi3Status fmi3EnterInitializationMode(fmi3Instance p, fmi3Boolean d, fmi3Float64 t, fmi3Float64 start,
    fmi3Boolean e, fmi3Float64 stop) {
    (void)d; (void)t; (void)e; (void)stop; ((Plant *)p)->time = start; return OK;
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance p) { (void)p; return OK; }
fmi3Status fmi3Terminate(fmi3Instance p) { (void)p; return OK; }
fmi3Status fmi3SetFloat64(fmi3Instance p, const fmi3ValueReference r[], size_t n, const fmi3Float64 v[], size_t m) {
    (void)m; for (size_t i = 0; i < n; i++) if (write_real(p, r[i], v[i]) != OK) return FAIL; return OK;
}
fmi3Status fmi3GetFloat64(fmi3Instance p, const fmi3ValueReference r[], size_t n, fmi3Float64 v[], size_t m) {
    (void)m; for (size_t i = 0; i < n; i++) if (read_real(p, r[i], &v[i]) != OK) return FAIL; return OK;
}
fmi3Status fmi3DoStep(fmi3Instance p, fmi3Float64 t, fmi3Float64 h, fmi3Boolean n, fmi3Boolean *e, fmi3Boolean *s,
    fmi3Boolean *r, fmi3Float64 *last) {
    (void)n; *e = *s = *r = fmi3False; *last = t + h; return work(p, h);
}
fmi3Status fmi3GetFMUState(fmi3Instance p, fmi3FMUState *s) {
    if (*s == NULL) *s = malloc(sizeof(Plant));
    memcpy(*s, p, sizeof(Plant)); return OK;
}
fmi3Status fmi3SetFMUState(fmi3Instance p, fmi3FMUState s) { memcpy(p, s, sizeof(Plant)); return OK; }
fmi3Status fmi3FreeFMUState(fmi3Instance p, fmi3FMUState *s) { (void)p; free(*s); *s = NULL; return OK; }

#else

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }
fmi2Component fmi2Instantiate(fmi2String n, fmi2Type t, fmi2String g, fmi2String r, const fmi2CallbackFunctions *f,
    fmi2Boolean v, fmi2Boolean l) {
    (void)n; (void)t; (void)g; (void)r; (void)f; (void)v; (void)l; return make();
}
void fmi2FreeInstance(fmi2Component p) { free(p); instances--; }
fmi2Status fmi2SetupExperiment(fmi2Component p, fmi2Boolean d, fmi2Real t, fmi2Real start, fmi2Boolean e, fmi2Real stop) {
    (void)d; (void)t; (void)e; (void)stop; ((Plant *)p)->time = start; return OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component p) { (void)p; return OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component p) { (void)p; return OK; }
fmi2Status fmi2Terminate(fmi2Component p) { (void)p; return OK; }
fmi2Status fmi2Reset(fmi2Component p) { (void)p; return FAIL; }
fmi2Status fmi2SetReal(fmi2Component p, const fmi2ValueReference r[], size_t n, const fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) if (write_real(p, r[i], v[i]) != OK) return FAIL; return OK;
}
fmi2Status fmi2GetReal(fmi2Component p, const fmi2ValueReference r[], size_t n, fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) if (read_real(p, r[i], &v[i]) != OK) return FAIL; return OK;
}
fmi2Status fmi2DoStep(fmi2Component p, fmi2Real t, fmi2Real h, fmi2Boolean n) { (void)t; (void)n; return work(p, h); }
#ifndef NO_STATE
fmi2Status fmi2GetFMUstate(fmi2Component p, fmi2FMUstate *s) {
    if (*s == NULL) *s = malloc(sizeof(Plant));
    memcpy(*s, p, sizeof(Plant)); return OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component p, fmi2FMUstate s) { memcpy(p, s, sizeof(Plant)); return OK; }
fmi2Status fmi2FreeFMUstate(fmi2Component p, fmi2FMUstate *s) { (void)p; free(*s); *s = NULL; return OK; }
#endif

#endif
