import assert from 'node:assert/strict';
import { NO_HEADER_CHANGES } from '../../../shared/header-changes.ts';
import { OPEN } from '../../../shared/access.ts';
import { localPort } from '../local/local-service.ts';
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

function portAndWildcard(fields: string) {
  const [only] = parseProject(`tunnels: {web: {${fields}}}`, 'culvert.yml').tunnels;
  return [only !== undefined && 'port' in only.target && only.target.port, only?.wildcard];
}

const filled = (field: string, env: Record<string, string>) =>
  parseProject(`tunnels: {web: {port: 1, ${field}}}`, 'culvert.yml', { env }).tunnels[0];

const access = (fields: string, env: Record<string, string> = {}) => {
  const [only] = parseProject(tunnel(fields), 'culvert.yml', { env }).tunnels;
  return only && { ...only.access, madePassword: only.madePassword };
};

const numbered = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join(', ');

/**
 * Fields of a tunnel, and what is said about the first; or a file, in which `|` ends a line, and what is said about it.
 * `…` is any text. What would leave a tunnel more open than it seems comes first. Secrets, such as `hid`, are not repeated.
 */
const REFUSED = `
password: => must be a string, or true to generate a password of three words.
password: 1234 => must be a string, or true to generate a password of three words.
password: false => must be a string, or true to generate a password of three words.
password: hid => the password must be 4 to 128 characters.
password: '\${NOT_SET}' => the variable NOT_SET is not set.
auth: ['ann:\${NOT_SET}'] => the variable NOT_SET is not set.
auth: [] => must be USER:PASSWORD, or a list of them.
auth: {ann: hid} => must be USER:PASSWORD, or a list of them.
auth: ann => must be USER:PASSWORD, but the password is missing.
auth: 'ann:' => the password of ann must be 1 to 128 characters.
auth: ':hid' => the user in USER:PASSWORD must be 1 to 64 characters without a colon.
auth: ['ann:hid', 'ann:hid2'] => the user ann appears twice.
allow: [] => must be an address or a range, or a list of them.
allow: localhost => "localhost" is not an address or a range, such as 192.0.2.7 or 10.0.0.0/8.
allow: [10.0.0.0/8, 10.0.0.0/33] => "10.0.0.0/33" is not an address or a range, such as …
tokens: [] => must be the name of a token, a list of names, or names with their tokens.
tokens: [1] => must be the name of a token, a list of names, or names with their tokens.
tokens: {ci: } => must be the name of a token, a list of names, or names with their tokens.
tokens: CI => "CI" is not 1 to 32 lowercase letters, digits and hyphens.
tokens: [ci, ci] => the token "ci" appears twice.
tokens: {ci: hid} => the token ci must be 24 to 256 visible ASCII characters without blanks.
tokens: {ci: '\${NOT_SET}'} => the variable NOT_SET is not set.
sign_in: [] => must be an e-mail address, *@ and a domain, group:NAME, * or a list of them.
sign_in: true => must be an e-mail address, *@ and a domain, group:NAME, * or a list of them.
sign_in: example.com => "example.com" does not say who may sign in. Use ann@example.com, *@example.com, group:NAME or *.
oauth: google => must be true or false.
links: yes => must be true or false.
knock: 1 => must be true or false.
pasword: hid => is unknown. Did you mean password?
name: My_App => is "My_App", but must be 2 to 63 lowercase letters, digits and hyphens, not starting or …
ttl: 1d => is "1d", but must be a duration of at least 1s, such as 90s, 30m, 4h or 1h30m.
ttl: 60 => is 60, but must be a duration of at least 1s, such as 90s, 30m, 4h or 1h30m.
keep: yes => is "yes", but must be true or false.
keep: true => needs name, the name to keep: 2 to 63 lowercase letters, …
away: Later. => needs name, the name to keep: …
away: ' ' => is " ", but must be 1 to 500 characters.
away: 7 => is 7, but must be 1 to 500 characters.
idle: yes => is "yes", but must be true or false.
host_header: "a b" => is "a b", but must be keep, local, or a host name with or without a port, such as …
local_host: http://x => is "http://x", but must be a host name or an IP address, without a port.
request_header: ["A: b", "Host: c"] => is ["A: b","Host: c"], but must be a header … except Host (see …
remove_response_header: Content-Length => is "Content-Length", but must be the name of a header, except …
compress: yes => is "yes", but must be auto, on or off.
hosts: {} => is {}, but must be the ports of 1 to 32 hosts, such as "api: 3001" (letters, digits …
hosts: [3000] => is [3000], but must be the ports of 1 to 32 hosts, …
hosts: {api: 0} => is {"api":0}, but must be the ports of 1 to 32 hosts, …
hosts: {a.b: 3000} => is {"a.b":3000}, but must be the ports of 1 to 32 hosts, …
hosts: {xn--a: 3000} => is {"xn--a":3000}, but must be the ports of 1 to 32 hosts, …
keep_bodies: 32KB => is "32KB", but must be a size from 64KB to 10MB, such as 256KB or 1MB.
wait: 61 => is 61, but must be a whole number of seconds from 0 to 60.
hostheader: local => is unknown. Did you mean host_header?
other: x => is unknown. The fields are port, share, name, keep, away, domain, …
subdomain: x => is unknown. Did you mean name?
hostname: a.example.com => is unknown. Did you mean domain?
tunnels: {web: {addr: 3000}} => culvert.yml:1: tunnels.web.addr: is unknown. Did you mean port?…
tunnels: {web: {port?: 3000}} => culvert.yml:1: tunnels.web.port?: is unknown. Did you mean port?…
 => culvert.yml:1: the file must have a "tunnels" field with a name and a port for each tunnel.
- a => culvert.yml:1: the file is a list, but must have a "tunnels" field with a name and a port …
tunnels: => culvert.yml:1: tunnels: must define at least one tunnel, each with a name and a port.
tunnels: {web: 3000} => culvert.yml:1: tunnels.web: is 3000, but must be a mapping with these fields: port, …
tunnels:|  "a b": {port: 1} => culvert.yml:2: tunnels.a b: is not a valid tunnel name. Use 1 to 32 …
tunnels:|  web:|    name: x1 => culvert.yml:2: tunnels.web.port: is missing. It must be a whole number …
tunnels: {web: {hosts: {api: 1}}} => culvert.yml:1: tunnels.web.port: is missing. It must be a whole …
tunnels:|  web:|    port: 70000 => culvert.yml:3: tunnels.web.port: is 70000, but must be … 1 to 65535.
tunnels: {web: {port: "80"}} => culvert.yml:1: tunnels.web.port: is "80", but must be a whole number …
tunnels: {web: {port: 1, port: 2}} => culvert.yml:1: Map keys must be unique.
tunnels: {web: {share: /etc}} => culvert.yml:1: tunnels.web.share: is "/etc", but must be the path of a …
tunnels: {web: {port: 1, share: a}} => culvert.yml:1: tunnels.web.port: applies to a port, but this …
tunnels: {web: {share: a, upstream: h2c}} => culvert.yml:1: tunnels.web.upstream: applies to a port, …
tunnels: {web: {share: a, wait: 3}} => culvert.yml:1: tunnels.web.wait: applies to a port, but this …
tunnels: {web: {share: a, hosts: {api: 1}}} => culvert.yml:1: tunnels.web.hosts: applies to a port, …
tunnels: {web: {port: 1, upstream: grpc}} => culvert.yml:1: tunnels.web.upstream: is "grpc", but must be …
tunnels: {web: {port: 1, upstream: h2c, local_https: true}} => culvert.yml:1: … h2c is HTTP/2 without TLS: …
tunnels: {web: {name: shop, port: 1, keep: false, away: Later.}} => culvert.yml:1: … cannot be false for a tunnel with away, …
tunnels: {web: {hosts: {a: 1}, port: 1, wildcard: false}} => culvert.yml:1: … cannot be false for a tunnel …
tunnels: {web: {port: 1, protocol: udp}} => culvert.yml:1: tunnels.web.protocol: is "udp", but must be http, …
tunnels: {web: {port: 1, protocol: tcp, knock: true}} => culvert.yml:1: tunnels.web.knock: is not available for a …
tunnels: {web: {port: 1, protocol: tcp, domain: a.example.com}} => culvert.yml:1: … not available for a tunnel with …
tunnels: {web: {port: 1, protocol: tls, compress: on}} => culvert.yml:1: tunnels.web.compress: is not available …
tunnels: {web: {port: 1, protocol: tls, remote_port: 2}} => culvert.yml:1: tunnels.web.remote_port: is not available …
tunnels: {web: {port: 1, remote_port: 2}} => culvert.yml:1: … available only for a tunnel with protocol tcp.
tunnels: {web: {port: 1, proxy_protocol: true}} => culvert.yml:1: … only for a tunnel with protocol tls or tcp.
tunnels: {web: {share: a, protocol: tcp}} => culvert.yml:1: … applies to a port, …
version: 3|agent: {authtoken: x}|endpoints: [] => culvert.yml:1: version: … configuration of ngrok. …
tunnel: x|ingress: [] => culvert.yml:1: tunnel: … configuration of cloudflared. …
# frp||serverAddr = "a"|[[proxies]] => culvert.yml:1: the file is TOML, not YAML. … "tunnels" field …
[common]|server_addr = a => culvert.yml:1: the file is TOML, not YAML. …
tunnels:|  - name: web|    port: 1 => culvert.yml:1: tunnels: is a list, … write "web:" … instead of "- name: web".
tunnels: {web: {port: 1}}|---|tunnels: {} => culvert.yml:2: a second YAML document begins here (---), but …
relay: relay.example|tunnels: {web: {port: 1}} => culvert.yml:1: relay: "relay.example" is not the address …
tunnels: [ => culvert.yml:1: Flow sequence …
`;

describe('parseProject', () => {
  it('reads every field', () => {
    const text = `
      relay: https://relay.example/v1
      tunnels:
        web:
          port: 3000
          name: my-app
          keep: true
          away: |
            Back at nine.
            Call me.
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
          target: {
            host: '192.0.2.7',
            port: 3000,
            https: true,
            waitMs: 10_000,
            upstream: 'h2',
            hostHeader: 'local',
            hosts: { api: 3001, '*': 3002 },
          },
          name: 'my-app',
          keep: { away: 'Back at nine.\nCall me.' },
          domain: 'App.Example.com',
          wildcard: true,
          ttl: '4h',
          idle: true,
          compress: 'off',
          keepBodies: 1024 * 1024,
          headers: {
            requestHeader: ['X-Env: dev'],
            removeRequestHeader: ['Cookie', 'X-Old'],
            responseHeader: ['A: b', 'C: d'],
            removeResponseHeader: [],
          },
          access: OPEN,
          madePassword: undefined,
        },
      ],
      withheld: [],
    });
  });

  it('reads the access policy, with values of the environment', () => {
    const env = { ANN: 'secret', DOOR: 'mild-oak-fern', OFFICE: '192.0.2.0/24', COMPANY: 'example.com' };
    assert.deepEqual(
      access(
        [
          "auth: ['ann:${ANN}', 'bob:a:$b']",
          "password: '${DOOR}'",
          "allow: ['${OFFICE}', '::1']",
          'links: true',
          'knock: true',
          "sign_in: ['*@${COMPANY}', 'group:ops', 'group:ops']",
          'oauth: true',
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
        sign_in: ['*@example.com', 'group:ops'],
        oauth: true,
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

  for (const [max, what, text, message] of [
    [
      16,
      'users',
      (count) => tunnel(`auth: [${numbered(count, (at) => `u${at}:x`)}]`),
      /can have at most 16 users/,
    ],
    [
      64,
      'networks',
      (count) => tunnel(`allow: [${numbered(count, (at) => `10.0.0.${at}`)}]`),
      /at most 64 addresses/,
    ],
    [
      64,
      'tunnels',
      (count) => `tunnels: {${numbered(count, (at) => `t${at}: {port: 1}`)}}`,
      /the maximum is 64/,
    ],
    [
      32,
      'characters of a name',
      (count) => `tunnels: {${'n'.repeat(count)}: {port: 1}}`,
      /Use 1 to 32 letters/,
    ],
  ] as const satisfies [number, string, (count: number) => string, RegExp][])
    it(`accepts at most ${max} ${what}`, () => {
      assert.ok(parseProject(text(max), 'culvert.yml').tunnels.length > 0);
      assert.match(refusal(text(max + 1)), message);
    });

  it('requires only a port, and keeps the order', () => {
    const { relay, tunnels } = parseProject('tunnels:\n  b: {port: 2}\n  a: {port: 1}\n', 'culvert.yml');
    assert.equal(relay, undefined);
    assert.equal(tunnels[1]?.label, 'a');
    assert.deepEqual(tunnels[0], {
      label: 'b',
      target: localPort(2),
      name: undefined,
      domain: undefined,
      wildcard: false,
      ttl: undefined,
      idle: false,
      compress: 'auto',
      keepBodies: 256 * 1024,
      headers: NO_HEADER_CHANGES,
      access: OPEN,
      madePassword: undefined,
    });
  });

  it('reads tunnels that carry bytes', () => {
    const { tunnels } = parseProject(
      'tunnels:\n  a: {port: 22, protocol: tcp, remote_port: 10022, allow: 10.0.0.0/8, wait: 1}\n' +
        '  b: {port: 8443, protocol: tls, domain: a.example.com, proxy_protocol: true}\n  c: {port: 1, protocol: http}\n',
      'culvert.yml',
    );
    assert.deepEqual(
      tunnels.map(({ target }) => 'port' in target && [target.waitMs, target.raw]),
      [
        [1000, { protocol: 'tcp', remotePort: 10_022, proxyProtocol: false }],
        [0, { protocol: 'tls', remotePort: undefined, proxyProtocol: true }],
        [0, undefined],
      ],
    );
  });

  it('accepts a folder instead of a port', () => {
    const [only] = parseProject('tunnels: {docs: {share: ./public, name: docs}}', 'culvert.yml').tunnels;
    assert.deepEqual([only?.target, only?.name], [{ folder: './public' }, 'docs']);
    const [other] = parseProject('tunnels: {docs: {share: a, compress: on}}', 'culvert.yml').tunnels;
    assert.equal(other?.compress, 'on');
  });

  for (const row of REFUSED.trim().split('\n')) {
    const [text = '', message = ''] = row.split(' => ');
    it(`rejects ${text}`, () => {
      const [name = ''] = text.split(':');
      const isField = !message.startsWith('culvert.yml:');
      const said = refusal(isField ? tunnel(text) : text.replaceAll('|', '\n'));
      const expected = isField ? `culvert.yml:4: tunnels.web.${name}: ${message}` : message;
      const parts = expected.split('…').map((part) => part.replaceAll(/[^\w\s]/g, '\\$&'));
      assert.match(said, new RegExp(`^${parts.join('[^]*')}$`));
      assert.doesNotMatch(said, /hid/);
    });
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
        /name: "\$\{USER\}-shop" stands for "Ann\.Lee-shop", but must be 2 to/,
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
    const env = { SET: 'mild-oak-tree' };
    const { tunnels, withheld } = parseProject(text, 'culvert.yml', { env, withholds: true });
    assert.deepEqual([tunnels.length, tunnels[0]?.label, tunnels[0]?.access.password], [1, 'web', env.SET]);
    const [api] = withheld;
    assert.deepEqual([withheld.length, api?.label, api?.target, api?.ttl], [1, 'api', localPort(4000), '4h']);
    assert.ok(api !== undefined);
    assert.equal(
      textOf(api.why),
      'auth: the variable ANN is not set\npassword: the variable DOOR is not set',
    );
    assert.ok(!Object.hasOwn(api, 'access') && !Object.hasOwn(api, 'madePassword'));
    // Other problems of the file are still reported.
    assert.throws(
      () => parseProject('tunnels: {a: {port: 1, auth: "x:${"}}', 'culvert.yml', { env, withholds: true }),
      /tunnels\.a\.auth: \$\{…\} must contain the name/,
    );
    assert.throws(
      () => parseProject(text, 'culvert.yml', { env }),
      /tunnels\.api\.auth: the variable ANN is not/,
    );
  });
});
