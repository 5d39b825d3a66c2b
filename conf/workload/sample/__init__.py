"""Workloads that `workload=sample/NAME` can name: look-alikes that come with the package."""
