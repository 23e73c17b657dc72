"""Who owns which field: sets of fields, what an object covers, how configurations merge. Pure; called by `api/`."""
