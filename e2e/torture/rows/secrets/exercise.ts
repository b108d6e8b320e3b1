/** Everything that is done with keys, right and wrong, well and badly. */
import { randomUUID } from 'node:crypto';
import { type Field, formatRequest } from '../../../support/raw-http.ts';
import { Scope } from '../../../support/scope.ts';
import type { Front } from '../../tools/fronts.ts';
import { talk } from '../../tools/talk.ts';

const PATIENCE = { firstMs: 2000, quietMs: 30 };

const WEBSOCKET: readonly Field[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
];

/**
 * Sends each key in many ways.
 *
 * @param hosts of the relay and of a tunnel
 * @returns everything that came back
 */
export async function useKeys(
  front: Front,
  keys: readonly string[],
  hosts: readonly string[],
): Promise<string[]> {
  return await send(front, keys, hosts, requests);
}

/** The same with the tokens of invitations. */
export async function useInvitations(
  front: Front,
  tokens: readonly string[],
  hosts: readonly string[],
): Promise<string[]> {
  return await send(front, tokens, hosts, invitationRequests);
}

async function send(
  front: Front,
  secrets: readonly string[],
  hosts: readonly string[],
  requestsOf: (secret: string, host: string) => Buffer[],
): Promise<string[]> {
  const responses: string[] = [];
  for (const secret of secrets) {
    for (const bytes of hosts.flatMap((host) => requestsOf(secret, host))) {
      const scope = new Scope();
      const connection = await front.open(scope);
      responses.push((await talk(connection, bytes, PATIENCE)).text);
      await scope.end();
    }
  }
  return responses;
}

function requests(key: string, host: string): Buffer[] {
  const authorizations = [
    `Bearer ${key}`,
    `bearer  ${key}`,
    `Basic ${key}`,
    key,
    `Bearer ${key} ${key}`,
    `Bearer "${key}"`,
  ];
  const paths = ['/v1/tunnels', '/v1/account', `/v1/tunnels/${randomUUID()}`, '/v1/nowhere'];
  const bodies = [
    '',
    '{',
    '[]',
    '{"local_port":0}',
    '{"local_port":1,"name":"!"}',
    '{"local_port":1,"ttl":"x"}',
  ];
  const sockets = [
    `/ws/control?tunnel_id=${randomUUID()}`,
    '/ws/control',
    `/ws/data?id=${randomUUID()}`,
    `/ws/data?tunnel_id=x`,
  ];
  const headers: Field = ['Authorization', `Bearer ${key}`];
  const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n`;
  return [
    ...authorizations.flatMap((value) =>
      paths.map((target) => formatRequest({ host, target, headers: [['Authorization', value]] })),
    ),
    ...bodies.map((body) =>
      formatRequest({ host, method: 'POST', target: '/v1/tunnels', headers: [headers], body }),
    ),
    ...sockets.map((target) => formatRequest({ host, target, headers: [...WEBSOCKET, headers] })),
    formatRequest({ host, method: 'DELETE', target: `/v1/tunnels/${randomUUID()}`, headers: [headers] }),
    formatRequest({ host, headers: [headers, ['Cookie', `key=${key}`], ['X-Api-Key', key]] }),
    // Refused heads, with the key in them.
    Buffer.from(`${head}Content-Length: x\r\n\r\n`),
    Buffer.from(`${head} ${key}: folded\r\n\r\n`),
    Buffer.from(`${head}X\0: ${key}\r\n\r\n`),
    Buffer.from(`${head}X: ${key.repeat(1000)}\r\n\r\n`),
    Buffer.from(`${head}Host: ${key}\r\n\r\n`),
  ];
}

function invitationRequests(token: string, host: string): Buffer[] {
  const spelled = Buffer.from(token).toString('hex').replaceAll(/../g, '%$&');
  const targets = [
    ...[token, `${token}.`, `${token}/`, `${token}?${token}`, `x${token}`, spelled, token.slice(0, -1)].map(
      (end) => `/invite/${end}`,
    ),
    `https://${host}/invite/${token}`,
    `HTTP://${host.toUpperCase()}/invite/${token}?x`,
    `https://${host}?${token}`,
    `/Invite/${token}`,
    `//invite/${token}`,
    `/%69nvite/${token}`,
    `/invite%2f${token}`,
    `/x/../invite/${token}`,
    `/v1/invites/${token}`,
    `/${token}`,
  ];
  const headers: readonly Field[] = [
    ['Referer', `https://${host}/invite/${token}`],
    ['User-Agent', token],
  ];
  return [
    ...targets.flatMap((target) => [
      formatRequest({ host, target, headers }),
      formatRequest({ host, method: 'POST', target, headers, body: '{}' }),
    ]),
    Buffer.from(`GET /invite/${token} HTTP/1.0\r\n\r\n`),
    Buffer.from(`GET /invite/${token} HTTP/1.1\r\nHost: ${host}\r\nA B: c\r\n\r\n`),
    Buffer.from(`GET /invite/${token} HTTP/3.0\r\nHost: ${host}\r\n\r\n`),
  ];
}
