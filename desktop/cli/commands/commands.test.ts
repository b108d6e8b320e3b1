import assert from 'node:assert/strict';
import { OPEN } from '../../../shared/access.ts';
import { SPEC_DEFAULTS, type TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { UsageError } from '../../client/failures.ts';
import { ProjectFileError } from '../../client/config/project-trust.ts';
import { localPort } from '../../client/local/local-service.ts';
import { Network } from '../../client/network/network.ts';
import { parseRelayAddress } from '../../client/relay/relay-address.ts';
import { NO_FILES } from '../../testing/command-context.ts';
import { readLoginAddress } from './login.ts';
import type { Files, Group, Usage } from '../command-line/command.ts';
import { commandsOf } from '../command-line/help.ts';
import { COMMANDS, type PreparedCommand, readArguments } from './commands.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const ENV = { CULVERT_API_KEY: KEY };

function spec(label: string | undefined, port: number): TunnelSpec & { label: string } {
  return { ...tunnelOf(label, port), label: label as string, access: OPEN };
}

/** A tunnel of the command line before its access policy is known. */
function tunnelOf(label: string | undefined, port: number): Omit<TunnelSpec, 'access'> {
  const target = localPort(port);
  const unset = { name: undefined, domain: undefined, ttl: undefined, rehearsal: undefined };
  return { ...SPEC_DEFAULTS, label, target, ...unset };
}

const EVERYBODY = { ...OPEN, madePassword: undefined, exposed: [] };
const NOTHING = { open: false, qr: false, copy: false };

/** Words as typed in a shell, without quotes. */
const prepare = (line: string, env: Record<string, string> = ENV, files = NO_FILES): PreparedCommand =>
  readArguments(line.split(' ').filter(Boolean), env, files);

function read(line: string, env?: Record<string, string>, files?: Files): object {
  const { name, given } = prepare(line, env, files);
  return Object.assign({ command: name }, given);
}

function labels(...line: Parameters<typeof prepare>): unknown[] {
  const command = prepare(...line);
  return command.name === 'start' ? command.given.tunnels.map(({ label }) => label) : [];
}

function wanted(line: string) {
  const command = prepare(line);
  assert.ok(command.name === 'http');
  assert.equal(command.given.tunnel.madePassword, command.given.wanted.madePassword);
  return command.given.wanted;
}

describe('a command line', () => {
  const access = {
    relay: parseRelayAddress('http://localhost:8080'),
    key: KEY,
    network: new Network(),
    json: false,
  };

  it('reads the shortest command', () => {
    assert.deepEqual(read('http 3000'), {
      command: 'http',
      tunnel: tunnelOf(undefined, 3000),
      wanted: EVERYBODY,
      onceOnline: NOTHING,
      ui: false,
      ...access,
    });
  });

  it('reads every option, at any position', () => {
    assert.deepEqual(
      read(
        `--json http --name my-app 3000 --ttl 1h30m --idle --qr --relay https://r.example/v1 --key ${KEY}`,
        {},
      ),
      {
        command: 'http',
        tunnel: { ...tunnelOf(undefined, 3000), name: 'my-app', ttl: '1h30m', idle: true },
        wanted: EVERYBODY,
        onceOnline: { ...NOTHING, qr: true },
        ui: false,
        relay: parseRelayAddress('https://r.example'),
        key: KEY,
        network: new Network(),
        json: true,
      },
    );
  });

  it('accepts the address that a development server prints', () => {
    for (const line of ['3000', 'localhost:3000', 'http http://localhost:3000'])
      assert.deepEqual(read(line), read('http 3000'));
    assert.deepEqual(
      read('https://127.0.0.1:8443 --name my-app'),
      read('http 8443 --local-host 127.0.0.1 --local-https --name my-app'),
    );
    assert.deepEqual(read('192.168.1.5:80'), read('http 80 --local-host 192.168.1.5'));
  });

  it('understands the aliases used by other programs', () => {
    const theirs = `http 3000 --subdomain=my-app --authtoken ${KEY} --host-header=rewrite --basic-auth ann:hush`;
    const ours = `http 3000 --name my-app --key ${KEY} --host-header local --auth ann:hush`;
    assert.deepEqual(read(theirs, {}), read(ours, {}));
    for (const [line, meant] of [
      ['ls', 'list'],
      ['rm my-app', 'close my-app'],
      ['version', '--version'],
      ['help ls', 'help list'],
    ] as const)
      assert.deepEqual(read(line), read(meant));
  });

  it('reads the options of the local port', () => {
    const tunnel = {
      ...tunnelOf(undefined, 3000),
      target: {
        port: 3000,
        hostHeader: 'local',
        host: '192.0.2.7',
        https: true,
        upstream: 'h2',
        waitMs: 10_000,
      },
      compress: 'off',
      keepBodies: 256 * 1024,
    };
    const line =
      'http 3000 --host-header local --local-host 192.0.2.7 --local-https --upstream h2 --wait 10 --compress off --keep-bodies 256KB';
    assert.deepEqual(read(line), {
      command: 'http',
      tunnel,
      wanted: EVERYBODY,
      onceOnline: NOTHING,
      ui: false,
      ...access,
    });
  });

  it('reads the folder to share', () => {
    const unset = { label: undefined, domain: undefined, ttl: undefined };
    assert.deepEqual(read('share dist --name my-app --open --compress on'), {
      command: 'share',
      tunnel: { ...SPEC_DEFAULTS, ...unset, target: { folder: 'dist' }, name: 'my-app', compress: 'on' },
      wanted: EVERYBODY,
      onceOnline: { ...NOTHING, open: true },
      ui: false,
      ...access,
    });
  });

  it('reads the access policy', () => {
    assert.deepEqual(
      wanted(
        'http 3000 --auth ann:a:b --auth bob --password hush --allow 10.0.0.0/8 --allow ::1 --links --knock --token ci --token agent --sign-in ann@example.com --mcp',
      ),
      {
        basic: [
          { user: 'ann', password: 'a:b' },
          { user: 'bob', password: undefined },
        ],
        password: 'hush',
        madePassword: undefined,
        allow: ['10.0.0.0/8', '::1'],
        links: true,
        knock: true,
        tokens: [
          { name: 'ci', token: undefined },
          { name: 'agent', token: undefined },
        ],
        sign_in: ['ann@example.com'],
        oauth: true,
        exposed: ['--auth', '--password'],
      },
    );
    assert.deepEqual(wanted('http 3000 --auth bob').exposed, []);
  });

  it('generates a password if --password has no value, at any position', () => {
    for (const line of [
      'http 3000 --password',
      'http --password --links 3000',
      'http --password --json -- 3000',
    ]) {
      const { password, madePassword, exposed } = wanted(line);
      assert.match(password ?? '', /^[a-z]+-[a-z]+-[a-z]+$/);
      assert.equal(madePassword, password);
      assert.deepEqual(exposed, []);
    }
  });

  it("accepts the number of the relay's port elsewhere", () => {
    for (const line of ['http 192.0.2.7:8080', `http 8080 --relay https://r.example:8080 --key ${KEY}`])
      assert.doesNotThrow(() => read(line), line);
  });

  it('needs neither a relay nor a key for help, version and logout', () => {
    for (const line of ['--help', '-h', 'help'])
      assert.deepEqual(read(line, {}), { command: 'help', topic: undefined });
    for (const line of ['http --help', 'help http', 'http 3000 -h'])
      assert.deepEqual(read(line, {}), { command: 'help', topic: 'http' });
    assert.deepEqual(read('--version', {}), { command: 'version' });
    assert.deepEqual(read('logout', {}), { command: 'logout', json: false });
  });

  it('reads login, which asks for a key if none is given as an option', () => {
    const asked = {
      command: 'login',
      ...access,
      relayFrom: 'the default',
      insecure: false,
      ca: undefined,
      key: undefined,
      invitation: undefined,
    };
    assert.deepEqual(read('login'), asked);
    const told = { ...asked, relayFrom: '--relay', key: KEY };
    assert.deepEqual(read(`login --relay ${access.relay.origin} --key ${KEY}`), told);
  });

  describe('start', () => {
    const relay = parseRelayAddress('https://project.example');
    const tunnels = [spec('web', 3000), spec('api', 4000)];
    const files: Files = {
      ...NO_FILES,
      readProject: (path = 'culvert.yml') => ({ path, relay, tunnels, withheld: [] }),
    };

    it('uses all tunnels of culvert.yml, and its relay', () => {
      const signedIn = { ...files, readLogin: () => ({ relay, key: KEY }) };
      for (const env of [ENV, {}])
        assert.deepEqual(read('start', env, signedIn), {
          command: 'start',
          project: 'culvert.yml',
          takesOver: false,
          tunnels,
          onceOnline: NOTHING,
          ui: false,
          ...access,
          relay,
        });
    });

    it('uses the named tunnels, in the order of the file', () => {
      const env = { ...ENV, CULVERT_RELAY: relay.origin };
      assert.deepEqual(labels('start api', env, files), ['api']);
      assert.deepEqual(labels('start api web', env, files), ['web', 'api']);
    });

    it('passes on --open and --qr, and copies only one address', () => {
      const command = prepare('start --open --qr', { ...ENV, CULVERT_RELAY: relay.origin }, files);
      assert.ok(command.name === 'start');
      assert.deepEqual(command.given.onceOnline, { open: true, qr: true, copy: false });
      const env = { ...ENV, CULVERT_RELAY: relay.origin };
      assert.deepEqual(labels('start api --copy', env, files), ['api']);
    });

    it('accepts a local_host on another machine only if that is allowed', () => {
      const remote = { ...spec('db', 5432), target: { ...localPort(5432), host: '192.0.2.7' } };
      const project = {
        ...files,
        readProject: () => ({
          path: '/p/culvert.yml',
          relay: undefined,
          tunnels: [...tunnels, remote],
          withheld: [],
        }),
      };
      for (const line of ['start', 'start db']) {
        assert.throws(
          () => read(line, ENV, project),
          (error) =>
            error instanceof ProjectFileError &&
            /^\/p\/culvert\.yml: tunnels\.db\.local_host: "192\.0\.2\.7" is another machine.*--allow-other-hosts/.test(
              error.message,
            ),
        );
        assert.ok(labels(`${line} --allow-other-hosts`, ENV, project).includes('db'));
      }
      assert.deepEqual(labels('start web', ENV, project), ['web']);
    });

    it('prefers the relay of an option and of the environment', () => {
      for (const [line, env] of [
        ['start --relay https://other.example', ENV],
        ['start', { ...ENV, CULVERT_RELAY: 'https://other.example' }],
      ] as const) {
        const command = prepare(line, env, files);
        assert.ok(command.name === 'start');
        assert.equal(command.given.relay.hostname, 'other.example');
      }
    });
  });
});

describe('the examples in the help', () => {
  const tunnels = [spec('web', 3000)];
  const files: Files = {
    ...NO_FILES,
    readProject: () => ({ path: 'culvert.yml', relay: undefined, tunnels, withheld: [] }),
  };

  const rows: readonly (Usage | Group)[] = COMMANDS;
  for (const { name, examples } of rows.flatMap(commandsOf)) {
    it(`of ${name} work as typed`, () => {
      assert.notDeepEqual(examples, {});
      for (const line of Object.keys(examples)) {
        // Without what the shell makes of the line.
        const [, words = ''] = /(?:^|[(|] ?)culvert ([^|>)]*)/.exec(line) ?? [];
        // A quoted text is one word, which `prepare` splits at blanks.
        const typed = words.replaceAll(/'([^']*)'/g, (_quoted, text: string) => text.replaceAll(' ', '_'));
        const used = prepare(typed, ENV, files).name;
        assert.ok(used === name || (name === 'domain verify' && used === 'http'), line);
      }
    });
  }
});

describe('the address behind culvert login', () => {
  const sources = { options: {}, env: {}, readLogin: () => undefined };
  const token = 'aB3_-'.repeat(6) + 'xy';

  it('is an invitation, or a relay', () => {
    const invited = readLoginAddress(`https://relay.example:8443/invite/${token}`, sources);
    assert.deepEqual(
      [invited.relay.origin, invited.invitation?.token],
      ['https://relay.example:8443', token],
    );
    const relay = readLoginAddress('https://relay.example', sources);
    assert.deepEqual([relay.relay.origin, relay.invitation], ['https://relay.example', undefined]);
    assert.equal(readLoginAddress(undefined, sources).invitation, undefined);
  });

  for (const given of [
    `https://relay.example/invite/${token}x`,
    'https://relay.example/invite/',
    'relay',
    '',
  ])
    it(`is not "${given}"`, () => {
      assert.throws(() => readLoginAddress(given, sources), UsageError);
    });

  it('excludes --relay, and an invitation --key', () => {
    const address = `https://relay.example/invite/${token}`;
    const relay = { ...sources, options: { relay: 'https://other.example' } };
    assert.throws(() => readLoginAddress(address, relay), /--relay and an address cannot be combined/);
    assert.throws(
      () => readLoginAddress(address, { ...sources, options: { key: 'x' } }),
      /the invitation gives you a key/,
    );
  });
});
