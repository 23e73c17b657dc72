"""Production's own loop-bound code in virtual time: HTTP both ways, the store on a bad disk, drivers, supervisors."""
