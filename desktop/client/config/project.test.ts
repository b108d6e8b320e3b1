import assert from 'node:assert/strict';
import { NO_HEADER_CHANGES } from '../../../shared/header-changes.ts';
import { OPEN } from '../../../shared/access.ts';
import { textOf } from '../messages.ts';
import { parseRelayAddress } from '../relay/relay-address.ts';
import { parseProject } from './project.ts';
import { ProjectFileError } from './project-trust.ts';

const KEY = `cvt_${'k'.repeat(32)}`;

function refusal(text: string): string {
  try {
    parseProject(text, 'culvert.yml');
  } catch (error) {
    assert.ok(error instanceof ProjectFileError, String(error));
    return error.message;
  }
  return assert.fail('it was taken');
}

const tunnel = (fields: string): string => `tunnels:\n  web:\n    port: 3000\n    ${fields}\n`;

const many = (count: number): string =>
  `tunnels:\n${Array.from({ length: count }, (_, index) => `  t${index}: {port: 1}\n`).join('')}`;

const named = (length: number): string => `tunnels: {${'n'.repeat(length)}: {port: 1}}`;

const users = (count: number) => Array.from({ length: count }, (_, index) => `u${index}:x`).join(', ');

const networks = (count: number) => Array.from({ length: count }, (_, index) => `10.0.0.${index}`).join(', ');

function portAndWildcard(fields: string) {
  const [only] = parseProject(`tunnels: {web: {${fields}}}`, 'culvert.yml').tunnels;
  return [only?.port, only?.wildcard];
}

const filled = (field: string, env: Record<string, string>) =>
  parseProject(`tunnels: {web: {port: 1, ${field}}}`, 'culvert.yml', { env }).tunnels[0];

describe('parseProject', () => {
  it('reads every field', () => {
    const text = `
      relay: https://relay.example/v1
      tunnels:
        web:
          port: 3000
          name: my-app
          domain: App.Example.com
          wildcard: true
          hosts: { api: 3001, '*': 3002 }
          ttl: 4h
          idle: true
          host_header: local
          local_host: 192.0.2.7
          local_https: true
          upstream: h2
          wait: 10
          compress: off
          keep_bodies: 1MB
          request_header: 'X-Env: dev'
          remove_request_header: [Cookie, X-Old]
          response_header: ['A: b', 'C: d']
    `;
    assert.deepEqual(parseProject(text, 'culvert.yml'), {
      path: 'culvert.yml',
      relay: parseRelayAddress('https://relay.example'),
      tunnels: [
        {
          label: 'web',
          port: 3000,
          name: 'my-app',
          domain: 'App.Example.com',
          wildcard: true,
          hosts: { api: 3001, '*': 3002 },
          ttl: '4h',
          idle: true,
          hostHeader: 'local',
          localHost: '192.0.2.7',
          localHttps: true,
          upstream: 'h2',
          wait: 10,
          compress: 'off',
          keepBodies: 1024 * 1024,
          headers: {
            requestHeader: ['X-Env: dev'],
            removeRequestHeader: ['Cookie', 'X-Old'],
            responseHeader: ['A: b', 'C: d'],
            removeResponseHeader: [],
          },
          folder: undefined,
          access: OPEN,
          madePassword: undefined,
        },
      ],
      withheld: [],
    });
  });

  const access = (fields: string, env: Record<string, string> = {}) => {
    const [only] = parseProject(tunnel(fields), 'culvert.yml', { env }).tunnels;
    return only && { ...only.access, madePassword: only.madePassword };
  };

  it('reads the access policy, with values of the environment', () => {
    const env = { ANN: 'secret', DOOR: 'mild-oak-fern', OFFICE: '192.0.2.0/24' };
    assert.deepEqual(
      access(
        [
          "auth: ['ann:${ANN}', 'bob:a:$b']",
          "password: '${DOOR}'",
          "allow: ['${OFFICE}', '::1']",
          'links: true',
          'knock: true',
        ].join('\n    '),
        env,
      ),
      {
        basic: [
          { user: 'ann', password: 'secret' },
          { user: 'bob', password: 'a:$b' },
        ],
        password: 'mild-oak-fern',
        allow: ['192.0.2.0/24', '::1'],
        links: true,
        knock: true,
        tokens: [],
        madePassword: undefined,
      },
    );
    assert.deepEqual(access('auth: ann:x\n    allow: 10.0.0.0/8'), {
      ...OPEN,
      basic: [{ user: 'ann', password: 'x' }],
      allow: ['10.0.0.0/8'],
      madePassword: undefined,
    });
  });

  it('reads tokens as names, and as names with values of the environment', () => {
    const env = { AGENT_TOKEN: 'x'.repeat(24) };
    const ci = { name: 'ci', token: undefined };
    const agent = { name: 'agent', token: env.AGENT_TOKEN };
    for (const [fields, tokens] of [
      ['tokens: ci', [ci]],
      ['tokens: [ci, 0-9]', [ci, { name: '0-9', token: undefined }]],
      ["tokens: {agent: '${AGENT_TOKEN}'}", [agent]],
      ["tokens: [ci, agent: '${AGENT_TOKEN}']", [ci, agent]],
    ] as const)
      assert.deepEqual(access(fields, env)?.tokens, tokens, fields);
  });

  it('takes the port from `hosts`; these and `*.` domains imply `wildcard`', () => {
    assert.deepEqual(portAndWildcard('hosts: {api: 3001, "*": 3000}'), [3000, true]);
    assert.deepEqual(portAndWildcard('hosts: {"8080": 8080}, port: 80'), [80, true]);
    assert.deepEqual(portAndWildcard('port: 80, domain: "*.example.com"'), [80, true]);
    assert.deepEqual(portAndWildcard('port: 80, wildcard: true'), [80, true]);
    assert.deepEqual(portAndWildcard('port: 80, domain: app.example.com'), [80, false]);
  });

  it('generates a password if asked to', () => {
    const made = access('password: true');
    assert.match(made?.password ?? '', /^[a-z]+-[a-z]+-[a-z]+$/);
    assert.equal(made?.madePassword, made?.password);
  });

  it('rejects what would leave a tunnel more open than it seems, without repeating a secret', () => {
    for (const [fields, message] of [
      [
        'password:',
        /:4: tunnels\.web\.password: must be a string, or true to generate a password of three words/,
      ],
      ['password: 1234', /password: must be a string/],
      ['password: false', /password: must be a string/],
      ['password: hid', /password: the password must be 4 to 128 characters\.$/],
      ["password: '${NOT_SET}'", /:4: tunnels\.web\.password: the variable NOT_SET is not set\.$/],
      ["auth: ['ann:${NOT_SET}']", /auth: the variable NOT_SET is not set/],
      ['auth: []', /auth: must be USER:PASSWORD, or a list of them/],
      ['auth: {ann: hid}', /auth: must be USER:PASSWORD/],
      ['auth: ann', /auth: must be USER:PASSWORD, but the password is missing/],
      ["auth: 'ann:'", /auth: the password of ann must be 1 to 128 characters/],
      ["auth: ':hid'", /auth: the user in USER:PASSWORD must be 1 to 64 characters without a colon/],
      ["auth: ['ann:hid', 'ann:hid2']", /auth: the user ann appears twice/],
      ['allow: []', /allow: must be an address or a range, or a list of them/],
      ['allow: localhost', /allow: "localhost" is not an address or a range, such as/],
      ['allow: [10.0.0.0/8, 10.0.0.0/33]', /allow: "10\.0\.0\.0\/33" is not/],
      ['tokens: []', /tokens: must be the name of a token, a list of names, or names with their tokens/],
      ['tokens: [1]', /tokens: must be the name of a token/],
      ['tokens: {ci: }', /tokens: must be the name of a token/],
      ['tokens: CI', /tokens: "CI" is not 1 to 32 lowercase letters, digits and hyphens/],
      ['tokens: [ci, ci]', /tokens: the token "ci" appears twice/],
      ['tokens: {ci: hid}', /tokens: the token ci must be 24 to 256 visible ASCII characters without blanks/],
      ["tokens: {ci: '${NOT_SET}'}", /tokens: the variable NOT_SET is not set/],
      ['links: yes', /links: must be true or false/],
      ['knock: 1', /knock: must be true or false/],
      ['pasword: hid', /pasword: is unknown\. Did you mean password\?/],
    ] as const) {
      const text = refusal(tunnel(fields));
      assert.match(text, message);
      assert.doesNotMatch(text, /hid/);
    }
  });

  it('accepts at most 16 users and 64 networks', () => {
    assert.equal(access(`auth: [${users(16)}]`)?.basic.length, 16);
    assert.equal(access(`allow: [${networks(64)}]`)?.allow.length, 64);
    assert.match(refusal(tunnel(`auth: [${users(17)}]`)), /auth: can have at most 16 users/);
    assert.match(refusal(tunnel(`allow: [${networks(65)}]`)), /allow: can have at most 64 addresses/);
  });

  it('requires only a port, and keeps the order', () => {
    const { relay, tunnels } = parseProject('tunnels:\n  b: {port: 2}\n  a: {port: 1}\n', 'culvert.yml');
    assert.equal(relay, undefined);
    assert.deepEqual(
      tunnels.map(({ label, port }) => [label, port]),
      [
        ['b', 2],
        ['a', 1],
      ],
    );
    const defaults = {
      idle: false,
      hostHeader: 'keep',
      localHost: 'localhost',
      localHttps: false,
      upstream: 'http1',
      wait: 0,
      compress: 'auto',
      keepBodies: 64 * 1024,
      headers: NO_HEADER_CHANGES,
      folder: undefined,
      access: OPEN,
      madePassword: undefined,
    };
    assert.deepEqual(tunnels[0], {
      label: 'b',
      port: 2,
      name: undefined,
      domain: undefined,
      wildcard: false,
      hosts: undefined,
      ttl: undefined,
      ...defaults,
    });
  });

  it('accepts a folder instead of a port', () => {
    const [only] = parseProject('tunnels: {docs: {share: ./public, name: docs}}', 'culvert.yml').tunnels;
    assert.deepEqual([only?.folder, only?.port, only?.name], ['./public', 0, 'docs']);
    const [other] = parseProject('tunnels: {docs: {share: a, compress: on}}', 'culvert.yml').tunnels;
    assert.equal(other?.compress, 'on');
  });

  const refused: [string, RegExp][] = [
    ['', /^culvert\.yml:1: the file must have a "tunnels" field/],
    ['- a\n', /^culvert\.yml:1: the file is a list, but must have a "tunnels" field/],
    [
      'tunnels:\n',
      /^culvert\.yml:1: tunnels: must define at least one tunnel, each with a name and a port\.$/,
    ],
    [
      'tunnels: {web: 3000}',
      /:1: tunnels\.web: is 3000, but must be a mapping with these fields: port, share, name/,
    ],
    ['tunnels:\n  "a b": {port: 1}', /:2: tunnels\.a b: is not a valid tunnel name\. Use 1 to 32 letters/],
    [
      'tunnels:\n  web:\n    name: x1\n',
      /:2: tunnels\.web\.port: is missing\. It must be a whole number from 1 to/,
    ],
    [tunnel('share: ./public'), /:3: tunnels\.web\.port: applies to a port, but this tunnel shares a folder/],
    ['tunnels: {web: {share: /etc}}', /share: is "\/etc", but must be the path of a folder inside/],
    ['tunnels: {web: {port: 1, upstream: grpc}}', /web\.upstream: is "grpc", but must be http1, h2c/],
    [
      'tunnels: {web: {port: 1, upstream: h2c, local_https: true}}',
      /web\.upstream: h2c is HTTP\/2 without TLS/,
    ],
    ['tunnels: {web: {share: a, upstream: h2c}}', /web\.upstream: applies to a port/],
    ['tunnels: {web: {share: a, wait: 3}}', /web\.wait: applies to a port/],
    ['tunnels:\n  web:\n    port: 70000\n', /:3: tunnels\.web\.port: is 70000, but must be .* 1 to 65535\.$/],
    ['tunnels: {web: {port: "80"}}', /port: is "80", but must be a whole number/],
    [tunnel('name: My_App'), /:4: tunnels\.web\.name: is "My_App", but must be 2 to 63 lowercase/],
    [tunnel('ttl: 1d'), /:4: tunnels\.web\.ttl: is "1d", but must be a duration/],
    [tunnel('ttl: 60'), /ttl: is 60, but must be a duration/],
    [tunnel('idle: yes'), /idle: is "yes", but must be true or false/],
    [tunnel('host_header: "a b"'), /host_header: is "a b", but must be keep, local, or a host name/],
    [tunnel('local_host: http://x'), /local_host: is "http:\/\/x", but must be a host name/],
    [
      tunnel('request_header: ["A: b", "Host: c"]'),
      /:4: tunnels\.web\.request_header: is \["A: b","Host: c"\], but must be a header .* except Host \(see --host-header\)/,
    ],
    [
      tunnel('remove_response_header: Content-Length'),
      /:4: tunnels\.web\.remove_response_header: is "Content-Length", but/,
    ],
    [tunnel('compress: yes'), /:4: tunnels\.web\.compress: is "yes", but must be auto, on or off\.$/],
    [tunnel('hosts: {}'), /:4: tunnels\.web\.hosts: is \{\}, but must be the ports of 1 to 32 hosts/],
    [tunnel('hosts: [3000]'), /hosts: is \[3000\], but must be the ports/],
    [tunnel('hosts: {api: 0}'), /hosts: is \{"api":0\}, but must be the ports/],
    [tunnel('hosts: {a.b: 3000}'), /hosts: is \{"a\.b":3000\}, but must be the ports/],
    [tunnel('hosts: {xn--a: 3000}'), /hosts: is .* but must be the ports/],
    [tunnel('hosts: {a: 1}\n    wildcard: false'), /:5: tunnels\.web\.wildcard: cannot be false/],
    ['tunnels: {web: {hosts: {api: 1}}}', /web\.port: is missing/],
    ['tunnels: {web: {share: a, hosts: {api: 1}}}', /web\.hosts: applies to a port/],
    [tunnel('keep_bodies: 32KB'), /keep_bodies: is "32KB", but must be a size from 64KB to 10MB, such as/],
    [tunnel('wait: 61'), /wait: is 61, but must be a whole number of seconds from 0 to 60/],
    [tunnel('hostheader: local'), /:4: tunnels\.web\.hostheader: is unknown\. Did you mean host_header\?$/],
    ['tunnels: {web: {port?: 3000}}', /: tunnels\.web\.port\?: is unknown\. Did you mean port\?$/m],
    [
      tunnel('other: x'),
      /other: is unknown\. The fields are port, share, name, domain, wildcard, hosts, ttl/,
    ],
    // What other programs call it.
    [tunnel('subdomain: x'), /subdomain: is unknown\. Did you mean name\?$/],
    ['tunnels: {web: {addr: 3000}}', /web\.addr: is unknown\. Did you mean port\?$/m],
    [tunnel('hostname: a.example.com'), /hostname: is unknown\. Did you mean domain\?$/],
    [
      'version: 3\nagent: {authtoken: x}\nendpoints: []\n',
      /^culvert\.yml:1: version: .* configuration of ngrok\./,
    ],
    ['tunnel: x\ningress: []\n', /^culvert\.yml:1: tunnel: .* configuration of cloudflared\./],
    [
      '# frp\n\nserverAddr = "a"\n[[proxies]]\n',
      /^culvert\.yml:1: the file is TOML, not YAML\. .* "tunnels" field[^\n]*$/,
    ],
    ['[common]\nserver_addr = a\n', /the file is TOML/],
    [
      'tunnels:\n  - name: web\n    port: 1\n',
      /:1: tunnels: is a list, .* write "web:" .* instead of "- name: web"\.$/,
    ],
    [
      `${tunnel('idle: true')}---\n${tunnel('idle: true')}`,
      /^culvert\.yml:5: a second YAML document begins here \(---\)/,
    ],
    [tunnel('port: 4000'), /:4: Map keys must be unique/],
    [
      `relay: relay.example\n${tunnel('idle: true')}`,
      /:1: relay: "relay\.example" is not the address of a relay/,
    ],
    ['tunnels: [', /:1: Flow sequence/],
  ];
  for (const [text, message] of refused) {
    it(`rejects ${JSON.stringify(text)}`, () => assert.match(refusal(text), message));
  }

  for (const text of [
    `key: ${KEY}\n${tunnel('idle: true')}`,
    tunnel(`api_key: ${KEY}`),
    tunnel(`ttl: ${KEY}`),
  ]) {
    it(`rejects a key in ${JSON.stringify(text)} without repeating it`, () => {
      const message = refusal(text);
      assert.match(message, /API key.* does not belong in this file/);
      assert.ok(!message.includes(KEY));
    });
  }

  it('reports all problems together, in the order of the file', () => {
    const lines = refusal(`relay: 1\n${tunnel('ttl: x')}  api:\n    port: 0\n`).split('\n');
    assert.deepEqual(
      lines.map((line) => line.split(': ', 2).join(': ')),
      ['culvert.yml:1: relay', 'culvert.yml:5: tunnels.web.ttl', 'culvert.yml:7: tunnels.api.port'],
    );
  });

  it('accepts names of at most 32 characters', () => {
    assert.equal(parseProject(named(32), 'culvert.yml').tunnels.length, 1);
    assert.match(refusal(named(33)), /Use 1 to 32 letters/);
  });

  it('accepts at most 64 tunnels', () => {
    assert.equal(parseProject(many(64), 'culvert.yml').tunnels.length, 64);
    assert.match(refusal(many(65)), /has 65 tunnels, but the maximum is 64/);
  });

  it('rejects aliases that multiply', () => {
    const lines = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`);
    assert.match(refusal(`a0: &a0 [x]\n${lines.join('\n')}\n`), /aliases/);
  });

  describe('fills in variables of the name and the domain', () => {
    it('so that each developer has a name of their own', () => {
      assert.equal(filled("name: '${USER}-shop'", { USER: 'ann' })?.name, 'ann-shop');
      assert.equal(filled("name: '${USER}-shop'", { USERNAME: 'ann' })?.name, 'ann-shop', 'on Windows');
      assert.equal(filled("domain: '${WHO}.example.com'", { WHO: 'ann' })?.domain, 'ann.example.com');
    });

    for (const [name, env, message] of [
      [
        '${USER}-shop',
        { USER: 'Ann.Lee' },
        /name: "\$\{USER\}-shop" stands for "Ann\.Lee-shop", but must be 2 to 63 lower/,
      ],
      ['${USER}-shop', {}, /name: the variable USER is not set\.$/],
      [
        '${API_TOKEN}',
        { API_TOKEN: 'abcdef' },
        /name: the variable API_TOKEN may hold a secret, but names and/,
      ],
    ] as const)
      it(`or says why not: ${name} with ${JSON.stringify(env)}`, () =>
        assert.throws(() => filled(`name: '${name}'`, env), message));
  });

  it('withholds tunnels with unset variables, and gives them no access policy', () => {
    const text = `tunnels:
  api: {port: 4000, auth: ['ann:\${ANN}', 'bob:secret-word-1'], password: '\${DOOR}', ttl: 4h}
  web: {port: 3000, password: '\${SET}'}
`;
    const { tunnels, withheld } = parseProject(text, 'culvert.yml', {
      env: { SET: 'mild-oak-tree' },
      withholds: true,
    });
    assert.deepEqual(
      tunnels.map((one) => [one.label, one.access.password]),
      [['web', 'mild-oak-tree']],
    );
    const [api] = withheld;
    assert.deepEqual([withheld.length, api?.label, api?.port, api?.ttl], [1, 'api', 4000, '4h']);
    assert.ok(api !== undefined);
    assert.equal(
      textOf(api.why),
      'auth: the variable ANN is not set\npassword: the variable DOOR is not set',
    );
    assert.ok(!Object.hasOwn(api, 'access') && !Object.hasOwn(api, 'madePassword'));
    // Other problems of the file are still reported.
    assert.throws(
      () =>
        parseProject('tunnels: {a: {port: 1, auth: "ann:${"}}', 'culvert.yml', { env: {}, withholds: true }),
      /tunnels\.a\.auth: \$\{…\} must contain the name/,
    );
    assert.throws(
      () => parseProject(text, 'culvert.yml', { env: {} }),
      /tunnels\.api\.auth: the variable ANN is not set/,
    );
  });
});
