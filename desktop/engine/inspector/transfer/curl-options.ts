/** Options of curl, by what they mean for the request that it sends. */

/** What an option is for. `none`: nothing in the request follows from it. */
export type CurlOption =
  | 'method'
  | 'header'
  | 'data'
  | 'raw-data'
  | 'url-data'
  | 'json'
  | 'user'
  | 'cookie'
  | 'agent'
  | 'referer'
  | 'url'
  | 'target'
  | 'none';
export type CurlFlag = 'get' | 'head' | 'compressed' | 'literal' | 'none';

/** They say how curl connects, and what it does with the response. */
const IGNORED_VALUED =
  '-o --output -m --max-time --connect-timeout --resolve --connect-to -w --write-out --retry -x --proxy --noproxy --cacert ' +
  '--max-redirs --limit-rate';
const IGNORED_FLAGS =
  '-s --silent -S --show-error -v --verbose -k --insecure -L --location -i --include --show-headers -f --fail ' +
  '--fail-with-body -N --no-buffer -# --progress-bar --no-progress-meter -0 --http1.0 --http1.1 --http2 --http3 ' +
  '--path-as-is -4 --ipv4 -6 --ipv6 -O --tlsv1.2 --tlsv1.3';

/** Options that have a value. */
export const VALUED: ReadonlyMap<string, CurlOption> = new Map<string, CurlOption>([
  ['-X', 'method'],
  ['--request', 'method'],
  ['-H', 'header'],
  ['--header', 'header'],
  ['-d', 'data'],
  ['--data', 'data'],
  ['--data-ascii', 'data'],
  ['--data-binary', 'data'],
  ['--data-raw', 'raw-data'],
  ['--data-urlencode', 'url-data'],
  ['--json', 'json'],
  ['-u', 'user'],
  ['--user', 'user'],
  ['-b', 'cookie'],
  ['--cookie', 'cookie'],
  ['-A', 'agent'],
  ['--user-agent', 'agent'],
  ['-e', 'referer'],
  ['--referer', 'referer'],
  ['--url', 'url'],
  ['--request-target', 'target'],
  ...IGNORED_VALUED.split(' ').map((name): [string, CurlOption] => [name, 'none']),
]);

/** Options that have none. */
export const FLAGS: ReadonlyMap<string, CurlFlag> = new Map<string, CurlFlag>([
  ['-G', 'get'],
  ['--get', 'get'],
  ['-I', 'head'],
  ['--head', 'head'],
  ['--compressed', 'compressed'],
  ['-g', 'literal'],
  ['--globoff', 'literal'],
  ...IGNORED_FLAGS.split(' ').map((name): [string, CurlFlag] => [name, 'none']),
]);
