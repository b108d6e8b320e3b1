/** What `culvert` prints, at a relay that answers as each file says. `UPDATE=1` writes the files. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenFiles, readEscapes, type World } from '../../shared/testing/golden.ts';
import { VERSION } from '../../shared/version.ts';
import { readProject } from '../client/config/project.ts';
import type { Prompt } from '../client/config/relay-access.ts';
import { contextOf, record } from '../testing/command-context.ts';
import { ACCOUNT, TUNNEL } from '../testing/fake-platform.ts';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { closeServers, type RestResponse, startRestRelay } from '../testing/servers.ts';
import type { Files } from './command-line/command.ts';
import { main } from './main.ts';

const OTHER = { ...TUNNEL, id: TUNNEL.id.replace('0b', '1c'), slug: 'other', requests: 7, bytes_out: 2048 };
const DOMAIN = {
  id: '0f0c5e9a-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  domain: 'app.example.com',
  status: 'pending',
  records: [
    { type: 'CNAME', name: 'app.example.com', value: 'relay.example.net' },
    { type: 'TXT', name: '_culvert.app.example.com', value: 'culvert-verify=0123' },
  ],
  created_at: '2026-11-23T10:00:00.000Z',
  verified_at: null,
  failing_since: null,
  ends_at: '2026-12-23T10:00:00.000Z',
};

/** What a file calls `"$NAME"`, or changes with `{"...":"$NAME","slug":"other"}`. */
const OBJECTS: Readonly<Record<string, unknown>> = {
  ACCOUNT,
  TUNNEL,
  OTHER,
  LOCKED: { ...TUNNEL, access: { basic: ['ann'], links: true } },
  LINK: {
    id: '0123456789abcdef',
    note: 'for the review',
    created_at: TUNNEL.created_at,
    expires_at: TUNNEL.expires_at,
  },
  DOMAIN,
  VERIFIED: { ...DOMAIN, status: 'verified', verified_at: '2026-11-23T11:00:00.000Z', ends_at: null },
};

function readObject(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value === 'string' && /^\$[A-Z]+$/.test(value))
      return OBJECTS[value.slice(1)] ?? assert.fail(value);
    if (typeof value !== 'object' || value === null || !('...' in value)) return value;
    const { '...': object, ...changes } = value;
    return { ...(object as object), ...changes };
  });
}

/** The relay's clock counts, not this machine's. */
const DATE = new Date(Date.parse(TUNNEL.expires_at) - (2.5 * 3600 + 30) * 1000).toUTCString();

/** Gets an answer of the relay as `METHOD PATH STATUS BODY`, `typed PASSWORD`, `project YAML`, `full REASON` of a disk, or `columns N` of a terminal. */
async function startWorld(): Promise<World> {
  const answers = new Map<string, RestResponse>();
  const asked: string[] = [];
  const { address } = await startRestRelay((call) => {
    const [, request = '', method = ''] = /^((\S+) \S+)/.exec(call) ?? [];
    if (method !== 'GET') asked.push(call);
    return answers.get(request) ?? [404, { error: 'not found', code: 'not-found' }];
  });
  let typed: string | undefined;
  let full: Error | undefined;
  let columns: number | undefined;
  const folder = temporaryDirectory();
  const answer = () => Promise.resolve(typed ?? assert.fail('asked'));
  return {
    give(line) {
      const [, request = '', status, body = ''] = /^(\S+ \S+) (\d+) (.*)$/.exec(line) ?? [];
      const [, word, rest = ''] = /^(typed|project|full|columns) (.*)$/.exec(line) ?? [];
      if (word === 'columns') columns = Number(rest);
      else if (word === 'typed') typed = rest;
      else if (word === 'project') writeFileSync(join(folder, 'culvert.yml'), readEscapes(rest));
      else if (word === 'full') full = new Error(rest);
      else
        answers.set(request, [
          Number(status),
          readObject(body),
          { date: DATE, 'www-authenticate': 'Bearer' },
        ]);
    },
    async run({ env, words }) {
      const access = { ...(answers.size > 0 && { CULVERT_RELAY: address.origin }), CULVERT_API_KEY: KEY };
      const { printed, output } = record(full, columns);
      const files: Files = {
        readLogin: () => undefined,
        readProject: (path) => readProject(path, folder, { env }),
      };
      const prompt: Prompt = { isInteractive: typed !== undefined, ask: answer, askSecret: answer };
      const context = contextOf(output, prompt);
      const code = await main(words, { ...access, ...env }, files, context, () => false);
      const [out = '', err = '', ...calls] = [printed.out, printed.err, ...asked.splice(0)].map((text) =>
        text.replaceAll(address.origin, 'RELAY').replaceAll(VERSION, 'VERSION').replaceAll(folder, 'FOLDER'),
      );
      return { code, out, err, calls };
    },
  };
}

const KEY = `cvt_${'k'.repeat(32)}`;

describe('culvert prints the content of', () => {
  const zone = process.env['TZ'];

  before(() => void (process.env['TZ'] = 'UTC'));
  after(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });
  afterEach(closeServers);

  let listeners = 0;
  before(() => {
    // Waits for the exit itself, from the first directory on.
    temporaryDirectory();
    listeners = process.listenerCount('exit');
  });
  afterEach(() => assert.equal(process.listenerCount('exit'), listeners, 'nothing waits for the exit'));

  goldenFiles(`${import.meta.dirname}/golden`, startWorld, {
    PASSWORD_: /(?<="password":"|^\| Password: )[a-z]+-[a-z]+-[a-z]+/g,
  });
});
