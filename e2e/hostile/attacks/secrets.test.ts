import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../../support/accounts.ts';
import { eventually, within } from '../../support/deadline.ts';
import {
  Culvert,
  newApiKey,
  Relay,
  RELAY_SCRIPT,
  spawnCulvert,
  temporaryDirectory,
} from '../../support/programs.ts';
import { type Field, formatRequest, visit, WEBSOCKET } from '../../support/raw-http.ts';
import { reapProcess } from '../../support/reaper.ts';
import { Scope } from '../../support/scope.ts';
import { startEchoService } from '../../support/services/echo.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { testAttack } from './attack.ts';
import { Faults, inParallel } from './measure.ts';
import { type Front, straight, talk } from './fronts.ts';

type Figure = 'logs' | 'metrics' | 'answers' | 'processes' | 'files' | 'dumps' | 'searched';

const METRICS = /"url":"http:\/\/127\.0\.0\.1:(\d+)\/metrics"/;

testAttack<Figure>({
  name: 'secrets',
  title:
    'Valid and invalid API keys and invitations are used in every way, at the most detailed log level, with a failing database and crashing programs. All output is then searched for them',
  thresholds: {
    searched: { meaning: 'output searched, KiB', atLeast: 100 },
    logs: { meaning: 'keys in logs, errors and stack traces', atMost: 0 },
    metrics: { meaning: 'keys in metrics', atMost: 0 },
    answers: { meaning: 'keys in responses', atMost: 0 },
    processes: { meaning: 'keys in the process list', atMost: 0 },
    files: { meaning: "keys in the relay's folder", atMost: 0 },
    dumps: { meaning: 'core dumps of a relay that crashed under the shipped systemd unit', atMost: 0 },
  },

  async run({ scope, say }) {
    const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
    const relay = await Relay.start(scope, {
      CULVERT_PUBLIC_URL,
      CULVERT_TUNNEL_DOMAIN,
      CULVERT_LOG_LEVEL: 'debug',
      CULVERT_METRICS_PORT: '0',
      CULVERT_ACCESS_LOG: 'stderr',
    });
    const { key } = await createAccount(relay);
    const wrong = [newApiKey(), newApiKey()];
    const keys = [relay.bootstrapKey, key, ...wrong];
    const faults = new Faults();
    const tokens = [1, 2].map(() => randomBytes(24).toString('base64url'));
    const search = new KeySearch([...keys, ...tokens], faults);
    const address = { url: `http://127.0.0.1:${relay.port}` };
    const service = await startEchoService(scope);
    const culverts = [
      await Culvert.start(scope, address, key, service.port),
      await Culvert.start(scope, address, '', service.port, ['--key', key]),
    ];
    const host = `${culverts[0]?.tunnel.slug}.${SHIPPED.tunnelDomain}`;

    say('keys in requests');
    const front = straight(relay.port);
    const hosts = [SHIPPED.relayHost, `nobody.${SHIPPED.tunnelDomain}`];
    const responses = await useKeys(front, keys, hosts);
    for (const response of responses) search.look('answers', 'a response', response);
    const invited = await useInvitations(front, tokens, [...hosts, 'elsewhere.example.org']);
    for (const response of invited) search.look('answers', 'a response', response);
    // The local service may see what its visitors send. The relay's logs may not.
    await useKeys(front, [key], [host]);
    for (const { pid } of [relay.child, ...culverts.map(({ child }) => child)])
      search.look('processes', 'a command line', readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
    say('keys of programs that fail');
    for (const output of await failingPrograms(scope, address.url, wrong))
      search.look('logs', 'culvert', output);
    search.lookInFolder('files', relay.dataDirectory);

    say('a store that fails');
    renameSync(join(relay.dataDirectory, 'culvert.db'), join(relay.dataDirectory, 'culvert.away'));
    for (const response of await useKeys(front, keys, [SHIPPED.relayHost]))
      search.look('answers', 'a response', response);
    const metrics = METRICS.exec(relay.child.stderr)?.[1];
    if (metrics === undefined) throw new Error('the log does not say where metrics are');
    const { text } = await visit(Number(metrics), { host: 'localhost', target: '/metrics' });
    search.look('metrics', 'metrics', text);
    for (const { child } of culverts) {
      await child.stop('SIGINT', 20_000).catch(() => child.stop('SIGKILL'));
      search.look('logs', 'culvert', child.lines.join('\n') + child.stderr);
    }
    await relay.stop('SIGTERM', 40_000).catch(() => undefined);
    await eventually(20_000, () =>
      search.look('logs', "the relay's log", relay.child.lines.join('\n') + relay.child.stderr),
    );

    say('crashes');
    for (const limit of shippedCoreLimits())
      for (const file of await crash(scope, limit)) faults.add('dumps', `${file} with LimitCORE=${limit}`);
    return {
      figures: {
        searched: search.bytes / 1024,
        ...faults.counts('logs', 'metrics', 'answers', 'processes', 'files', 'dumps'),
      },
      faults: faults.first,
    };
  },
});

/** The output of `culvert` for refused keys, an unreachable relay, and wrong usage. */
async function failingPrograms(scope: Scope, url: string, wrong: readonly string[]): Promise<string[]> {
  const uses = [
    ['http', '1', '--json'],
    ['list'],
    ['http', '1', '--relay', 'http://127.0.0.1:1'],
    ['close', 'nobody', '--no-such-flag'],
    ['doctor', '1'],
  ];
  const keys = [...wrong, `${wrong[0]}\u00e9`, `x${wrong[0]}`];
  const runs = keys.flatMap((key) => uses.map((args) => ({ key, args })));
  const outputs: string[] = [];
  await inParallel(4, runs, async ({ key, args }) => {
    const child = spawnCulvert(scope, args, { CULVERT_RELAY: url, CULVERT_API_KEY: key });
    // A command that keeps retrying is stopped.
    await child.exit(5000).catch(() => child.stop('SIGINT').catch(() => child.stop('SIGKILL')));
    outputs.push(child.lines.join('\n') + child.stderr);
  });
  return outputs;
}

/* A crash of the relay under the limit of the shipped unit. */

const UNITS = ['culvert-relay.service', 'culvert-relay@.service'];
const START_MS = 50_000;
const END_MS = 60_000;

/** `LimitCORE` of each shipped unit, in the form of `ulimit`. systemd itself sets none. */
export function shippedCoreLimits(): string[] {
  return UNITS.map((unit) => {
    const text = readFileSync(new URL(`../../../server/deploy/${unit}`, import.meta.url), 'utf8');
    return /^LimitCORE=(\S+)$/m.exec(text)?.[1] ?? 'unlimited';
  });
}

/**
 * Crashes a relay like a memory fault.
 *
 * @param limit the largest size of a core dump
 * @returns files that it left in its working directory
 */
export async function crash(scope: Scope, limit: string): Promise<string[]> {
  const folder = temporaryDirectory(scope);
  const data = temporaryDirectory(scope);
  const command = ['-c', 'ulimit -c "$0" && exec "$@"', limit, process.execPath, RELAY_SCRIPT, 'serve'];
  const child = spawn('sh', command, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, CULVERT_PORT: '0', CULVERT_DATA_DIR: data, CULVERT_BOOTSTRAP_KEY: newApiKey() },
  });
  reapProcess(child);
  scope.defer(() => child.kill('SIGKILL'));
  await within(START_MS, 'start of the relay', once(child.stdout, 'data'));
  const ended = once(child, 'exit');
  child.kill('SIGSEGV');
  await within(END_MS, 'end of the relay', ended);
  return readdirSync(folder);
}

/* Uses keys in every way, correctly and incorrectly. */

const PATIENCE = { firstMs: 2000, quietMs: 30 };

/**
 * Sends each key in many ways.
 *
 * @param hosts of the relay and of a tunnel
 * @returns everything that was received
 */
export async function useKeys(
  front: Front,
  keys: readonly string[],
  hosts: readonly string[],
): Promise<string[]> {
  return await send(front, keys, hosts, requests);
}

/** The same with invitation tokens. */
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

/* Searches for keys in places where there must not be any. */

/** Characters of a key that identify it. Commands show the first 8 on purpose. */
const PART = 12;

export class KeySearch {
  /** bytes searched so far */
  bytes = 0;
  readonly #keys: readonly string[];
  readonly #faults: Faults;

  constructor(keys: readonly string[], faults: Faults) {
    this.#keys = keys;
    this.#faults = faults;
  }

  /** @param figure counts what is found; `where` describes the place in words */
  look(figure: string, where: string, text: string): void {
    this.bytes += text.length;
    for (const key of this.#keys) {
      const parts = [key.slice(0, PART), key.slice(PART, 2 * PART), key.slice(-PART)];
      const found = parts.find((part) => text.includes(part));
      if (found !== undefined) this.#faults.add(figure, `${where}: ${excerpt(text, found)}`);
    }
  }

  /** Searches all files of a folder. */
  lookInFolder(figure: string, folder: string): void {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      this.look(figure, entry.name, readFileSync(path, 'latin1'));
    }
  }
}

function excerpt(text: string, found: string): string {
  const at = text.indexOf(found);
  return JSON.stringify(text.slice(Math.max(0, at - 100), at + 100));
}
