/** What `culvert --help` prints. */
export const HELP = `culvert: puts a local port on the internet through a Culvert relay

Usage:
  culvert http PORT [options]             open a tunnel to a port of this machine; Ctrl-C closes it
  culvert list [options]                  show your tunnels
  culvert close ID|SLUG [options]         close a tunnel
  culvert extend ID|SLUG [--ttl D]        let a tunnel live longer, by D or by its own time to live

Options:
  --relay URL    address of the relay (or CULVERT_RELAY; default http://localhost:8080)
  --key KEY      API key (or CULVERT_API_KEY, which other users of this machine cannot see)
  --name N       http: the name in the address, 2-63 lowercase letters, digits and hyphens
  --ttl D        http, extend: a duration such as 30m, 4h or 1h30m
  --idle         http: count the time to live from the last traffic
  --json         print JSON, one value a line
  --help         show this text
  --version      show the version

Events of "culvert http --json", one a line:
  {"event":"online","tunnel":{…}}    visitors reach the port; the first event, and again after reconnecting
  {"event":"reconnecting","attempt":1,"retry_in_ms":250,"message":"…"}
  {"event":"problem","code":"local-refused","message":"…"}    one visitor could not be served, the tunnel stays
    codes: local-refused visitor-gone data-refused data-failed too-many-connections
  {"event":"offline","reason":"stopped","message":"…"}    always the last event
    reasons: stopped closed expired gone replaced key-refused refused failed

Exit codes:
  0 ended by Ctrl-C, or done   1 failed   2 wrong usage   3 API key refused
  4 tunnel closed or expired   5 taken over by another client
`;
