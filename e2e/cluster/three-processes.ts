/** Loaded by mocha with `--require`: relays under test have three processes. */
process.env['CULVERT_WORKERS'] = '3';
