/** Requests of an attacker. */
import {
  AFTER,
  CANARY,
  chunkCases,
  CONTROLS,
  distinct,
  type Fate,
  framingCases,
  type HostileMessage,
  MAIN,
  message,
  shown,
  words,
} from './cases.ts';

export interface Hosts {
  /** host of the tunnel that the requests are sent to */
  readonly host: string;
  /** host of another account's tunnel */
  readonly victim: string;
  readonly relay: string;
}

const WRONG_VERSIONS = [
  ...words(`
    HTTP/0.9 HTTP/1.2 HTTP/1.10 HTTP/01.1 HTTP/2.0 HTTP/3 HTTP/1 HTTP/1. HTTP/.1 HTTP//1.1 http/1.1
    HTTP/1,1 HTTP/1.1x HTTP/1.1\0 XTTP/1.1 HTTP/-1.1 HTTPS/1.1 ICY/1.1 HTTP/1.1; HTTP/\xb9.1
  `),
  'HTTP 1.1',
  'HTTP/ 1.1',
];

/** All requests, without duplicates. */
export function hostileRequests(hosts: Hosts): HostileMessage[] {
  const hidden = hiddenRequest(hosts);
  const post = (what: string, fate: Fate, fields: string, body: string): HostileMessage => ({
    what,
    fate,
    text: `POST /main HTTP/1.1\r\nHost: ${hosts.host}\r\nCase: ${MAIN}\r\n${fields}\r\n${body}`,
  });
  return distinct([
    ...framingCases(post, hidden),
    ...chunkCases(post, hidden),
    ...startLines(hosts),
    ...fieldLines(hosts),
    ...hostFields(hosts),
    ...behindAnother(hosts),
  ]);
}

function hiddenRequest({ victim }: Hosts): string {
  return `GET /hidden HTTP/1.1\r\nHost: ${victim}\r\nCase: ${CANARY}\r\n\r\n`;
}

function startLines(hosts: Hosts): HostileMessage[] {
  const { host, victim, relay } = hosts;
  const rest = `\r\nHost: ${host}\r\nCase: ${MAIN}\r\n\r\n`;
  const refused = [
    'GET /main',
    'GET  /main HTTP/1.1',
    'GET /main  HTTP/1.1',
    'GET\t/main HTTP/1.1',
    'GET /main\tHTTP/1.1',
    'GET /main HTTP/1.1 ',
    ' GET /main HTTP/1.1',
    'GET /ma in HTTP/1.1',
    'GET /main HTTP/1.1 HTTP/1.1',
    'GET\v/main\vHTTP/1.1',
    'GET\r/main HTTP/1.1',
    'GET /main\rX HTTP/1.1',
    'GET /main HTTP/1.1\rX: y',
    'GET /main\nX HTTP/1.1',
    'G{T /main HTTP/1.1',
    'GE\xcd /main HTTP/1.1',
    '"GET" /main HTTP/1.1',
    'GET: /main HTTP/1.1',
    'main HTTP/1.1',
    'GET main HTTP/1.1',
    'GET \\main HTTP/1.1',
    'GET * HTTP/1.1',
    `GET http://${victim}/main HTTP/1.1`,
    `GET http://${relay}/v1/tunnels HTTP/1.1`,
    `GET ${host}:80 HTTP/1.1`,
    `GET ftp://${host}/main HTTP/1.1`,
    `GET http:/${host}/main HTTP/1.1`,
    `GET http:///main HTTP/1.1`,
    `CONNECT ${victim}:443 HTTP/1.1`,
    `CONNECT ${host}:443 HTTP/1.1`,
    ...WRONG_VERSIONS.map((version) => `GET /main ${version}`),
  ];
  const controls = CONTROLS.flatMap((code) => [
    `GET /ma${code}in HTTP/1.1`,
    `GE${code}T /main HTTP/1.1`,
    `GET /main HT${code}TP/1.1`,
  ]);
  const strange = ["X-!#$%&'*+.^_`|~1 /main HTTP/1.1", 'get /main HTTP/1.1'];
  return [
    ...[...refused, ...controls].map((line) => message(`start line ${shown(line)}`, 'refused', line + rest)),
    ...['\r\n', '\n', '\r', '\0', ' \r\n', '\r\n\r\n'].map((lead) =>
      message(`${shown(lead)} before a request`, 'refused', `${lead}GET /main HTTP/1.1${rest}`),
    ),
    // Node's server refuses unknown methods.
    ...strange.map((line) => message(`start line ${line}`, 'any', line + rest)),
    message('a target with encoded controls', 'passed', `GET /main?a=%00%0d%0a HTTP/1.1${rest}`),
    message('absolute form', 'passed', `GET http://${host}/main HTTP/1.1${rest}`),
    message('a long target', 'refused', `GET /${'a'.repeat(9000)} HTTP/1.1${rest}`),
  ];
}

function fieldLines({ host }: Hosts): HostileMessage[] {
  const withLines = (what: string, fate: Fate, lines: string): HostileMessage =>
    message(what, fate, `GET /main HTTP/1.1\r\nHost: ${host}\r\nCase: ${MAIN}\r\n${lines}\r\n`);
  const refused = [
    ': y',
    'X',
    'X\r\n y',
    'X Y: z',
    ' X: y',
    '\tX: y',
    'X : y',
    'X\t: y',
    '(X): y',
    'X[]: y',
    'X\xe4: y',
  ];
  // A line feed, or a carriage return followed by something else, ends lines for some parsers. A tab is allowed.
  const controls = CONTROLS.filter((code) => code !== '\t');
  return [
    ...refused.map((line) => withLines(`field ${shown(line)}`, 'refused', `${line}\r\n`)),
    ...controls.map((code) => withLines(`${shown(code)} in a value`, 'refused', `X: y${code}z\r\n`)),
    ...controls.map((code) => withLines(`${shown(code)} in a name`, 'refused', `X${code}Y: z\r\n`)),
    withLines('a tab in a value', 'passed', 'X: y\tz\r\n'),
    withLines('letters beyond ASCII in a value', 'passed', 'X: \xe4\xff\r\n'),
    withLines('an empty value', 'passed', 'X:\r\n'),
    withLines('no space behind the colon', 'passed', 'X:y\r\n'),
    withLines('too many fields', 'refused', 'X: y\r\n'.repeat(400)),
    withLines('a long field', 'refused', `X: ${'y'.repeat(20_000)}\r\n`),
    withLines('an unknown expectation', 'refused', 'Expect: 200-maybe\r\n'),
    withLines('a coding nobody knows in TE', 'any', 'TE: gzip;q=1, trailers\r\nConnection: te\r\n'),
    ...[
      'Content-Length',
      'Transfer-Encoding',
      'Host',
      'X-Forwarded-For',
      'Case',
      'close, close',
      ',',
      '"',
    ].map((name) => withLines(`${name} named by Connection`, 'any', `Connection: ${name}\r\n`)),
  ];
}

function hostFields({ host, victim }: Hosts): HostileMessage[] {
  const malformed = [
    '',
    ' ',
    'a b',
    'a,b',
    `${host}/x`,
    `http://${host}`,
    `u@${host}`,
    `${host}:x`,
    `${host}:80:80`,
    '[::1',
    ']',
    'a\tb',
    '%61',
  ];
  return [
    withHosts('refused', ''),
    withHosts('refused', `Host: ${host}\r\nHost: ${victim}\r\n`),
    withHosts('refused', `Host: ${host}\r\nHost: ${host}\r\n`),
    withHosts('refused', `Host: ${host}\r\nhost:\r\n`),
    withHosts('refused', `Host:\r\n ${host}\r\n`),
    withHosts('refused', `Host : ${host}\r\n`),
    withHosts('refused', ` Host: ${host}\r\n`),
    withHosts('refused', `X: y\r\n Host: ${victim}\r\nHost: ${host}\r\n`),
    ...malformed.map((value) => withHosts('refused', `Host: ${value}\r\n`)),
    withHosts('passed', `hOsT:\t${host.toUpperCase()} \r\n`),
  ];
}

function withHosts(fate: Fate, hosts: string): HostileMessage {
  return message(`hosts ${shown(hosts)}`, fate, `GET /main HTTP/1.1\r\n${hosts}Case: ${MAIN}\r\n\r\n`);
}

/** Ways to hide the request behind another one: an ambiguous body, an upgrade, a refusal. */
function behindAnother(hosts: Hosts): HostileMessage[] {
  const { host, relay } = hosts;
  const hidden = hiddenRequest(hosts);
  const length = `Content-Length: ${hidden.length}`;
  const socket =
    'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  const h2c =
    'Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA';
  const with11 = (fate: Fate, start: string, fields: string, body = hidden): HostileMessage =>
    message(
      `${start} with ${fields}`,
      fate,
      `${start} HTTP/1.1\r\nHost: ${host}\r\nCase: ${MAIN}\r\n${fields}\r\n\r\n${body}`,
    );
  const methods = words(`GET HEAD DELETE OPTIONS TRACE PATCH PROPFIND PRI PURGE`);
  return [
    ...methods.map((method) => with11('any', `${method} /main`, length)),
    ...methods.map((method) => with11('any', `${method} /main`, 'X: y')),
    ...[
      socket,
      h2c,
      `${socket}\r\n${length}`,
      `${h2c}\r\n${length}`,
      `${socket}, h2c`,
      'Upgrade: websocket',
    ].flatMap((fields) => [with11('any', 'GET /main', fields), with11('any', 'POST /main', fields)]),
    with11('any', 'POST /main', `Expect: 100-continue\r\n${length}`),
    with11('any', 'GET /main', `Expect: 100-continue\r\n${length}`),
    with11('refused', 'POST /main', `Expect: 100-continue, x\r\n${length}`),
    with11('any', 'POST /main', 'Connection: close'),
    with11('any', 'POST /main', `Connection: close, content-length\r\n${length}`),
    with11(
      'any',
      'POST /main',
      `Connection: transfer-encoding\r\nTransfer-Encoding: chunked`,
      `0\r\n\r\n${hidden}`,
    ),
    with11('any', 'POST /main', `Connection: keep-alive, host, case\r\n${length}`),
    with11('any', 'POST /main', `Trailer: Content-Length, Host\r\n${length}`),
    with11('any', 'POST /main', `Content-Encoding: chunked\r\n${length}`),
    with11('any', 'POST /main', `Content_Length: 0\r\n${length}`),
    with11('any', 'POST /main', `Transfer_Encoding: chunked\r\n${length}`),
    with11('any', 'POST /main', `X-HTTP-Method-Override: HEAD\r\n${length}`),
    with11('any', 'POST /main', 'Content-Length: 5', `hello${hidden}`),
    with11('any', 'POST /main', 'Content-Length: 7', `${AFTER}\r\n${hidden}`),
    with11('any', 'POST /main', `Content-Length: ${hidden.length + 1}`),
    message(
      'HTTP/1.0 with another behind it',
      'any',
      `GET /main HTTP/1.0\r\nHost: ${host}\r\nCase: ${MAIN}\r\n\r\n${hidden}`,
    ),
    message(
      'HTTP/1.0 that is kept alive',
      'any',
      `GET /main HTTP/1.0\r\nHost: ${host}\r\nConnection: keep-alive\r\nCase: ${MAIN}\r\n\r\n${hidden}`,
    ),
    ...['chunked', 'identity', 'gzip'].map((coding) =>
      message(
        `HTTP/1.0 with coding ${coding}`,
        'refused',
        `POST /main HTTP/1.0\r\nHost: ${host}\r\nCase: ${MAIN}\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n${hidden}`,
      ),
    ),
    ...['/v1/tunnels', '/healthz', '/nowhere', '/ws/control', '/t/', '*'].map((target) =>
      message(
        `behind a request to the relay for ${target}`,
        'any',
        `POST ${target} HTTP/1.1\r\nHost: ${relay}\r\nCase: ${MAIN}\r\n${length}\r\n\r\n${hidden}`,
      ),
    ),
  ];
}
