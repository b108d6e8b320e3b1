/** The rules of shared/value-rules.ts, checked wherever the client accepts such a value. */
import assert from 'node:assert/strict';
import { ValidationError } from 'yup';
import { ApiError } from '../shared/errors.ts';
import { NO_HEADER_CHANGES } from '../shared/header-changes.ts';
import { readCreateTunnel } from '../shared/tunnel-requests.ts';
import type { Upstream } from '../shared/value-rules.ts';
import type { TunnelForm } from './app/ipc/ipc.ts';
import { readDeepLink } from './app/main/deep-link.ts';
import { CHANNELS } from './app/main/handlers/channels.ts';
import { CUSTOM, EMPTY_DRAFT, type FormDraft, readDraft } from './app/renderer/model/create-form.ts';
import { readArguments } from './cli/commands/commands.ts';
import { parseProject } from './client/config/project.ts';
import { UsageError } from './client/failures.ts';
import { ProjectFileError } from './client/config/project-trust.ts';
import { NO_FILES } from './testing/command-context.ts';

/** Tries one place of entry: whether it accepts a value. */
type Door = (value: string) => boolean;

const KEY = `cvt_${'k'.repeat(32)}`;
const FORM = { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep', lock: { kind: 'anyone' } };
const LONGEST = 365 * 24 * 3600;

function takes(read: () => unknown, refusal: abstract new (...values: never[]) => Error): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof refusal) return false;
    throw error;
  }
}

/** @param options what follows `culvert http` */
function command(...options: string[]): boolean {
  return takes(() => readArguments(['http', ...options], { CULVERT_API_KEY: KEY }, NO_FILES), UsageError);
}

function projectFile(fields: string): boolean {
  return takes(() => parseProject(`tunnels: {web: {${fields}}}`, 'culvert.yml'), ProjectFileError);
}

function ipc(fields: object): boolean {
  return takes(() => CHANNELS['tunnel:create'].payload.validateSync({ ...FORM, ...fields }), ValidationError);
}

function form(draft: Partial<FormDraft>): boolean {
  const account = {
    name: 'acme',
    plan: 'dev',
    nameDomain: '',
    allowsNames: true,
    defaultTtl: 3600,
    maxTtl: LONGEST,
  };
  return 'form' in readDraft({ ...EMPTY_DRAFT, port: '3000', ...draft }, { account, ports: [], tunnels: [] });
}

function relay(fields: object): boolean {
  const limits = { defaultTtl: 3600, maxTtl: LONGEST };
  return takes(() => readCreateTunnel({ local_port: 3000, ...fields }, limits), ApiError);
}

const quoted = (value: string): string => JSON.stringify(value);

interface Rule {
  readonly doors: Readonly<Record<string, Door>>;
  readonly taken: readonly string[];
  readonly refused: readonly string[];
}

function linked(parameters: Record<string, string>): Partial<TunnelForm> {
  const link = readDeepLink(`culvert://new?${new URLSearchParams(parameters).toString()}`);
  assert.ok(link?.opens === 'form');
  return link.form;
}

const RULES: Readonly<Record<string, Rule>> = {
  port: {
    doors: {
      command: (port) => command('--', port),
      'culvert.yml': (port) => projectFile(`port: ${port}`),
      ipc: (port) => ipc({ port: Number(port) }),
      form: (port) => form({ port }),
      link: (port) => linked({ port }).port === Number(port),
      relay: (port) => relay({ local_port: Number(port) }),
    },
    taken: ['1', '80', '3000', '65535'],
    refused: ['0', '-1', '65536', '3000.5', '1e400', 'web'],
  },
  name: {
    doors: {
      command: (name) => command('3000', `--name=${name}`),
      'culvert.yml': (name) => projectFile(`port: 3000, name: ${quoted(name)}`),
      ipc: (name) => ipc({ name }),
      form: (name) => form({ name }),
      link: (name) => linked({ name }).name === name,
      relay: (name) => relay({ name }),
    },
    taken: ['ab', 'my-app', '3000', 'a--b', 'a'.repeat(63)],
    refused: ['a', '-ab', 'ab-', 'My-App', 'a b', 'a_b', 'a.b', 'xn--ab', 'ä1', 'a'.repeat(64)],
  },
  ttl: {
    doors: {
      command: (ttl) => command('3000', `--ttl=${ttl}`),
      'culvert.yml': (ttl) => projectFile(`port: 3000, ttl: ${quoted(ttl)}`),
      ipc: (ttl) => ipc({ ttl }),
      form: (ttl) => form({ ttl: CUSTOM, customTtl: ttl }),
      relay: (ttl) => relay({ ttl }),
    },
    taken: ['1s', '90s', '30m', '1.5h', '1h30m', '1500ms', '.5h'],
    refused: ['0s', '0.5s', '999ms', '-1h', 'soon', '1h!', 'h'],
  },
  // The form takes a number on its own for minutes, and sends it as such.
  'ttl without a unit': {
    doors: {
      command: (ttl) => command('3000', `--ttl=${ttl}`),
      'culvert.yml': (ttl) => projectFile(`port: 3000, ttl: ${quoted(ttl)}`),
      ipc: (ttl) => ipc({ ttl }),
      relay: (ttl) => relay({ ttl }),
    },
    taken: ['30m'],
    refused: ['30', '1h30'],
  },
  'host header': {
    doors: {
      command: (host) => command('3000', `--host-header=${host}`),
      'culvert.yml': (host) => projectFile(`port: 3000, host_header: ${quoted(host)}`),
      ipc: (hostHeader) => ipc({ hostHeader }),
      form: (customHost) => form({ host: CUSTOM, customHost }),
    },
    taken: [
      'keep',
      'local',
      'localhost',
      'app.test:3000',
      'my_app.test',
      '_app',
      '127.0.0.1:80',
      '[::1]',
      '[2001:db8::1]:8080',
      `${'a'.repeat(253)}:65535`,
    ],
    refused: [
      'a b',
      'a/b',
      'a\r\nX: y',
      'a:b',
      'a:0',
      'a:65536',
      'a:',
      '-a',
      'a.',
      '::1',
      '[::1',
      '[1.2.3.4]',
      '[::g]',
      '[fe80::1%eth0]',
      'a'.repeat(254),
    ],
  },
  keepBodies: {
    doors: {
      command: (size) => command('3000', `--keep-bodies=${size}`),
      'culvert.yml': (size) => projectFile(`port: 3000, keep_bodies: ${quoted(size)}`),
    },
    taken: ['64KB', '64k', '1MB', '1 MiB', '10mb', '10240KiB'],
    refused: ['', '63KB', '11MB', '65536', '1.5MB', '-1MB', '1GB', '99999999MB', 'all'],
  },
  compress: {
    doors: {
      command: (mode) => command('3000', `--compress=${mode}`),
      'culvert.yml': (mode) => projectFile(`port: 3000, compress: ${quoted(mode)}`),
      ipc: (compress) => ipc({ compress }),
    },
    taken: ['auto', 'on', 'off'],
    refused: ['yes', 'true', 'On', 'gzip', ' on'],
  },
  'a header to set': {
    doors: {
      command: (line) => command('3000', `--response-header=${line}`),
      'culvert.yml': (line) => projectFile(`port: 3000, response_header: [${quoted(line)}]`),
      ipc: (line) => ipc({ headers: { ...NO_HEADER_CHANGES, responseHeader: [line] } }),
      form: (line) => form({ responseHeaders: line }),
    },
    taken: ['X-Env: dev', 'X-Env:dev', 'X-Env:', 'x_env: a b: c', 'Set-Cookie: a=b; Path=/'],
    refused: [
      'X-Env',
      ': dev',
      'X Env: dev',
      'Host: a',
      'connection: close',
      'Upgrade: h2c',
      'X: ä',
      'X: a\rY: b',
    ],
  },
  'a header to remove': {
    doors: {
      command: (name) => command('3000', `--remove-request-header=${name}`),
      'culvert.yml': (name) => projectFile(`port: 3000, remove_request_header: ${quoted(name)}`),
      ipc: (name) => ipc({ headers: { ...NO_HEADER_CHANGES, removeRequestHeader: [name] } }),
      form: (name) => form({ requestHeaders: `-${name}` }),
    },
    taken: ['Cookie', 'x-env', 'X_Env'],
    refused: ['Cookie: a', 'a b', 'host', 'Content-Length', 'TE', 'a\rb'],
  },
  upstream: {
    doors: {
      command: (upstream) => command('3000', `--upstream=${upstream}`),
      'culvert.yml': (upstream) => projectFile(`port: 3000, upstream: ${quoted(upstream)}`),
      ipc: (upstream) => ipc({ upstream: upstream as Upstream }),
    },
    taken: ['http1', 'h2c', 'h2'],
    refused: ['', 'http2', 'grpc', 'H2', 'h2c '],
  },
  'local host': {
    doors: {
      command: (host) => command('3000', `--local-host=${host}`),
      'culvert.yml': (host) => projectFile(`port: 3000, local_host: ${quoted(host)}`),
    },
    taken: ['localhost', 'nas', 'my_nas.lan', '192.0.2.7', '::1', '2001:db8::1', 'fe80::1%eth0'],
    refused: ['a b', 'nas:3000', '[::1]', 'http://nas', 'nas/', 'nas%eth0', '::g'],
  },
};

describe('a value is the same for all who take it', () => {
  for (const [name, { doors, taken, refused }] of Object.entries(RULES)) {
    for (const [door, accepts] of Object.entries(doors)) {
      it(`${name}: ${door}`, () => {
        assert.deepEqual(
          taken.filter((value) => !accepts(value)),
          [],
          'refused',
        );
        assert.deepEqual(
          refused.filter((value) => accepts(value)),
          [],
          'taken',
        );
      });
    }
  }
});
