/** Responses of an attacker's service. */
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
  PAUSE,
  shown,
} from './cases.ts';

/** One reader takes it for a body, another for the response to another visitor. */
const HIDDEN = `HTTP/1.1 200 OK\r\nContent-Length: ${CANARY.length}\r\n\r\n${CANARY}`;
const FINAL = `HTTP/1.1 200 OK\r\nCase: ${MAIN}\r\nContent-Length: ${MAIN.length}\r\n\r\n${MAIN}`;
const INTERIM_FIELDS = [
  '',
  'Link: </a>; rel=preload\r\n',
  'Content-Length: 0\r\n',
  `Content-Length: ${HIDDEN.length}\r\n`,
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Trailer: X\r\nContent-Length: 0\r\n',
  'Content-Length: 0\r\nConnection: keep-alive\r\n',
];

/** What the relay accepts from services alone, and reframes (protocol.md section 4.3). */
const MENDED = new Set([
  'a coding behind the break \\n\\n',
  'a coding behind the break \\r\\n\\n',
  ...['\\n', '\\n\\n', '\\r\\n\\n'].flatMap((end) => [
    `a length behind the break ${end}`,
    `the break ${end} behind a length`,
  ]),
  'length 5,5',
  'length 5, 5',
  'two equal lengths',
  ...['7 ', '7\\t'].flatMap((size) => [`chunk size ${size}`, `first chunk size ${size}`]),
  'chunk data ends in \\n',
  'a chunk size ends in \\n',
  'status line HTTP/1.1 200 OK\\n',
  'status line HTTP/1.1 200 OK\\nX: y',
]);

/** All responses, without duplicates. */
export function hostileResponses(): HostileMessage[] {
  const responses = distinct([
    ...framingCases(response, HIDDEN),
    ...chunkCases(response, HIDDEN),
    ...interim(),
    ...startLines(),
    ...fieldLines(),
    ...withoutBody(),
    ...surplus(),
    ...steering(),
  ]);
  const whats = new Set(responses.map(({ what }) => what));
  const unknown = [...MENDED].filter((what) => !whats.has(what));
  if (unknown.length > 0) throw new Error(`no such responses: ${unknown.join(', ')}`);
  return responses.map((each) => (MENDED.has(each.what) ? { ...each, fate: 'mended' } : each));
}

function response(what: string, fate: Fate, fields: string, body: string): HostileMessage {
  return message(what, fate, `HTTP/1.1 200 OK\r\nCase: ${MAIN}\r\n${fields}\r\n${body}`);
}

/** Informational responses, which some readers mistake for the final one. */
function interim(): HostileMessage[] {
  const codes = [100, 102, 103, 104, 110, 150, 199];
  const heads = codes.flatMap((code) =>
    INTERIM_FIELDS.map((fields) => `HTTP/1.1 ${code} Wait\r\n${fields}\r\n`),
  );
  return [
    ...heads.flatMap((head) => [
      message(`${shown(head)} at once`, 'any', head + FINAL),
      message(`${shown(head)} first`, 'any', head + PAUSE + FINAL),
      message(
        `${shown(head)} with a response of somebody else`,
        'any',
        head + PAUSE + FINAL + PAUSE + HIDDEN,
      ),
    ]),
    message('500 of 103', 'any', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(500) + FINAL),
    message(
      '50 of 103 with a length',
      'any',
      'HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\n'.repeat(50) + FINAL,
    ),
    ...[
      '',
      'Upgrade: websocket\r\nConnection: upgrade\r\n',
      'Content-Length: 0\r\n',
      'Upgrade: h2c\r\nConnection: upgrade\r\n',
    ].map((fields) =>
      message(
        `101 with ${shown(fields)}`,
        'refused',
        `HTTP/1.1 101 Switching\r\nCase: ${MAIN}\r\n${fields}\r\n${HIDDEN}`,
      ),
    ),
    message(
      '101 behind 103',
      'refused',
      `HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 101 Switching\r\nCase: ${MAIN}\r\nUpgrade: websocket\r\n\r\n${HIDDEN}`,
    ),
    message('only an interim response', 'any', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    message('an interim response of HTTP/1.0', 'any', `HTTP/1.0 100 Continue\r\n\r\n${FINAL}`),
    message(
      'an interim response with a body',
      'refused',
      `HTTP/1.1 103 Early\r\nContent-Length: 7\r\n\r\n${AFTER}${FINAL}`,
    ),
  ];
}

function startLines(): HostileMessage[] {
  const lines = [
    'HTTP/1.1  200 OK',
    'HTTP/1.1\t200 OK',
    'HTTP/1.1 200\tOK',
    ' HTTP/1.1 200 OK',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 000 OK',
    'HTTP/1.1 -20 OK',
    'HTTP/1.1 +200 OK',
    'HTTP/1.1 2x0 OK',
    'HTTP/1.1 0200 OK',
    'HTTP/1.1 OK',
    'HTTP/1.1',
    'HTTP/2 200 OK',
    'HTTP/0.9 200 OK',
    'HTTP/1.2 200 OK',
    'http/1.1 200 OK',
    'HTTP/1.1x 200 OK',
    'HTTP 200 OK',
    'ICY 200 OK',
    '200 OK',
    'HTTP/1.1 200 OK\n',
    'HTTP/1.1 200 OK\rX: y',
    'HTTP/1.1 200 OK\nX: y',
    '<html>',
    'GET / HTTP/1.1',
    '\0HTTP/1.1 200 OK',
    '\r\nHTTP/1.1 200 OK',
    '\nHTTP/1.1 200 OK',
    `HTTP/1.1 200 ${'O'.repeat(70_000)}`,
  ];
  const controls = CONTROLS.filter((code) => code !== '\t').map((code) => `HTTP/1.1 200 O${code}K`);
  return [...lines, ...controls].map((line) => {
    const what = `status line ${shown(line).slice(0, 60)}`;
    return message(what, 'refused', `${line}\r\nCase: ${MAIN}\r\nContent-Length: 7\r\n\r\n${AFTER}`);
  });
}

function fieldLines(): HostileMessage[] {
  const lines = [': y', 'X', 'X\r\n y', 'X Y: z', ' X: y', '\tX: y', 'X : y', 'X\t: y', '(X): y', 'X\xe4: y'];
  const controls = CONTROLS.filter((code) => code !== '\t');
  const values = controls.map((code) => `X: y${code}z`);
  const names = controls.map((code) => `X${code}Y: z`);
  return [
    ...[...lines, ...values, ...names].map((line) =>
      message(
        `field ${shown(line)}`,
        'refused',
        `HTTP/1.1 200 OK\r\n${line}\r\nCase: ${MAIN}\r\nContent-Length: 7\r\n\r\n${AFTER}`,
      ),
    ),
    message('a tab in a value', 'passed', FINAL.replace('\r\n', '\r\nX: y\tz\r\n')),
    message('letters beyond ASCII', 'passed', FINAL.replace('\r\n', '\r\nX: \xe4\xff\r\n')),
    message('an empty reason', 'passed', FINAL.replace(' OK', ' ')),
  ];
}

/** Responses that must not have a body, with one. */
function withoutBody(): HostileMessage[] {
  const bodies = [
    `Content-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    `Transfer-Encoding: chunked\r\n\r\n7\r\n${AFTER}\r\n0\r\n\r\n`,
    `X: y\r\n\r\n${HIDDEN}`,
  ];
  return [
    ...['204 No Content', '304 Not Modified'].flatMap((status) =>
      bodies.map((body) =>
        message(`${status} with ${shown(body)}`, 'broken', `HTTP/1.1 ${status}\r\nCase: ${MAIN}\r\n${body}`),
      ),
    ),
    ...['200 OK', '404 Not Found', '204 No Content'].flatMap((status) =>
      bodies.map((body) => ({
        what: `to HEAD, ${status} with ${shown(body)}`,
        fate: 'broken' as const,
        text: `HTTP/1.1 ${status}\r\nCase: ${MAIN}\r\n${body}`,
        method: 'HEAD',
      })),
    ),
    // Their end is undefined or premature.
    message('205 with a body', 'any', `HTTP/1.1 205 Reset\r\nContent-Length: 7\r\n\r\n${AFTER}`),
    message('too short', 'any', `HTTP/1.1 200 OK\r\nCase: ${MAIN}\r\nContent-Length: 100000\r\n\r\n${MAIN}`),
    message(
      'a chunked one that is cut',
      'any',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n${MAIN}\r\n`,
    ),
    message('a head that is cut', 'refused', `HTTP/1.1 200 OK\r\nCase: ${MAIN}\r\nContent-Le`),
    message('nothing', 'any', ''),
  ];
}

/** A whole response, followed by extra bytes. */
function surplus(): HostileMessage[] {
  const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n${MAIN}\r\n0\r\n\r\n`;
  const close = FINAL.replace('\r\n', '\r\nConnection: close\r\n');
  const keep = FINAL.replace('HTTP/1.1 200 OK', 'HTTP/1.0 200 OK\r\nConnection: keep-alive');
  const empty = `HTTP/1.1 200 OK\r\nCase: ${MAIN}\r\nContent-Length: 0\r\n\r\n`;
  const behind = [
    HIDDEN,
    AFTER,
    '\r\n' + HIDDEN,
    PAUSE + HIDDEN,
    PAUSE + AFTER,
    HIDDEN.repeat(100),
    `HTTP/1.1 103 Early\r\n\r\n${PAUSE}${HIDDEN}`,
  ];
  return [FINAL, chunked, close, keep, empty].flatMap((whole) =>
    behind.map((extra) =>
      message(`behind ${shown(whole)}: ${shown(extra).slice(0, 60)}`, 'broken', whole + extra),
    ),
  );
}

/** Fields that may control a proxy in front, and others about the connection. */
function steering(): HostileMessage[] {
  const fields = [
    'X-Accel-Redirect: /v1/account',
    'X-Accel-Redirect: @victim',
    'X-Accel-Buffering: yes',
    'X-Accel-Expires: 3600',
    'X-Accel-Limit-Rate: 1',
    'X-Accel-Charset: utf-7',
    'X-Sendfile: /etc/hostname',
    'X-Lighttpd-Send-File: /etc/hostname',
    'X-Reproxy-URL: http://127.0.0.1/',
    'Connection: content-length',
    'Connection: keep-alive, transfer-encoding, case',
    'Connection: close, close',
    'Connection: ,',
    'Keep-Alive: timeout=0, max=0',
    'Keep-Alive: timeout=99999999999999',
    'Proxy-Connection: keep-alive',
    'Upgrade: h2c',
    'Connection: upgrade\r\nUpgrade: h2,h2c',
    'WWW-Authenticate: NTLM',
    'Proxy-Authenticate: Negotiate',
    'Trailer: Content-Length',
    'Alt-Svc: h2="evil.example:443"',
  ];
  return fields.map((field) => message(shown(field), 'any', FINAL.replace('\r\n', `\r\n${field}\r\n`)));
}
