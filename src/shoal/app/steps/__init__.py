"""The four steps of the page, one a module: each draws itself from what the session works on."""
