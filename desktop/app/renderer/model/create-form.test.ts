import assert from 'node:assert/strict';
import { assert as assertProperty, constantFrom, property, string } from 'fast-check';
import { NAME_PATTERN } from '../../../../shared/value-rules.ts';
import { exampleTunnel } from '../../../testing/views.ts';
import type { AccountView } from '../../ipc/snapshot.ts';
import { OPEN_DRAFT } from './access.ts';
import {
  CUSTOM,
  draftFrom,
  draftPort,
  EMPTY_DRAFT,
  type FormContext,
  type FormDraft,
  freePorts,
  hasOptions,
  nameProblem,
  portHint,
  readDraft,
  readPort,
  suggestedPorts,
  tidyName,
} from './create-form.ts';

const account: AccountView = {
  name: 'acme',
  plan: 'dev',
  nameDomain: 'tunnels.example.com',
  allowsNames: true,
  defaultTtl: 3600,
  maxTtl: 86_400,
};
const context: FormContext = {
  account,
  ports: [{ port: 5173, process: 'node', framework: 'Vite' }],
  tunnels: [exampleTunnel({ slug: 'shop', localPort: 3000 })],
};

const NO_LOCK = { lock: { kind: 'anyone' } };

function read(changes: Partial<FormDraft>, given: FormContext = context) {
  return readDraft({ ...EMPTY_DRAFT, ...changes }, given);
}

describe('create form', () => {
  it('uses the likeliest port until one is typed', () => {
    assert.equal(draftPort(EMPTY_DRAFT, context), '5173');
    assert.equal(draftPort({ ...EMPTY_DRAFT, port: '' }, context), '');
    const untouched = {
      form: { port: 5173, name: '', ttl: '', idle: false, hostHeader: 'keep', ...NO_LOCK },
    };
    assert.deepEqual(read({}), untouched);
  });

  it('reads every option', () => {
    const draft: Partial<FormDraft> = {
      port: '8080',
      name: 'demo',
      ttl: CUSTOM,
      customTtl: '90 min',
      idle: true,
      host: CUSTOM,
      customHost: 'shop.test:8080',
      compress: 'off',
      upstream: 'h2c',
      requestHeaders: '\nX-Env: dev\r\n -Cookie\n',
      responseHeaders: '- Server\nA: b\nA: c',
      lock: { ...OPEN_DRAFT, kind: 'addresses', addresses: '::1' },
    };
    const form = {
      port: 8080,
      name: 'demo',
      ttl: '90m',
      idle: true,
      hostHeader: 'shop.test:8080',
      upstream: 'h2c',
      lock: { kind: 'addresses', allow: ['::1'] },
      compress: 'off',
      headers: {
        requestHeader: ['X-Env: dev'],
        removeRequestHeader: ['Cookie'],
        responseHeader: ['A: b', 'A: c'],
        removeResponseHeader: ['Server'],
      },
    };
    assert.deepEqual(read(draft), { form });
  });

  it('reports the problems of all fields together', () => {
    const result = read({
      port: 'x',
      name: '-',
      ttl: CUSTOM,
      customTtl: '2d',
      host: CUSTOM,
      customHost: 'a b',
      requestHeaders: 'A: b\nHost: c',
      responseHeaders: 'A: b\n'.repeat(17),
      lock: { ...OPEN_DRAFT, kind: 'password' },
    });
    assert.deepEqual(Object.keys('problems' in result ? result.problems : {}), [
      'port',
      'name',
      'lockDetail',
      'ttl',
      'headers',
      'responseHeaders',
      'hostHeader',
    ]);
    assert.match('problems' in result ? (result.problems.headers ?? '') : '', /^“Host: c” cannot be used/);
  });

  it("rejects the name of one of the user's tunnels", () => {
    const result = read({ name: 'shop' });
    assert.match('problems' in result ? (result.problems.name ?? '') : '', /already have/);
  });

  it('sends no name if the plan does not allow names', () => {
    const free = { ...context, account: { ...account, allowsNames: false } };
    const result = read({ name: 'shop' }, free);
    assert.equal('form' in result ? result.form.name : undefined, '');
  });

  it('is filled in by a link', () => {
    const draft = draftFrom({ port: 3000, name: 'demo', ttl: '2h', hostHeader: 'local' });
    assert.deepEqual(read(draft), {
      form: { port: 3000, name: 'demo', ttl: '2h', idle: false, hostHeader: 'local', ...NO_LOCK },
    });
    assert.equal(hasOptions(draft), true);
    assert.equal(hasOptions({ ...EMPTY_DRAFT, lock: { ...OPEN_DRAFT, kind: 'links' } }), true);
    assert.equal(hasOptions({ ...EMPTY_DRAFT, compress: 'on' }), true);
    assert.equal(hasOptions({ ...EMPTY_DRAFT, responseHeaders: '-Server' }), true);
    assert.equal(hasOptions(draftFrom({ upstream: 'h2' })), true);
    assert.equal(hasOptions(draftFrom({ port: 3000 })), false);
    assert.equal(draftFrom({ hostHeader: 'a.test' }).customHost, 'a.test');
  });
});

describe('name rules', () => {
  const cases: readonly [name: string, problem: RegExp | undefined][] = [
    ['', undefined],
    ['shop-demo', undefined],
    ['a1', undefined],
    ['a', /at least 2/],
    ['-a', /Start with/],
    ['shop-', /End with/],
    ['xn--shop', /xn--/],
    ['shop demo', /^A space/],
    ['shöp', /^"ö"/],
    ['a'.repeat(63), undefined],
    ['a'.repeat(64), /at most 63 characters\. This name has 64/],
  ];
  for (const [name, problem] of cases) {
    it(`${problem === undefined ? 'takes' : 'explains'} "${name.slice(0, 20)}" (${name.length})`, () => {
      const found = nameProblem(name);
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', problem);
    });
  }

  it("explains that one of the user's tunnels has that name", () => {
    assert.match(nameProblem('shop', new Set(['shop'])) ?? '', /already have/);
  });

  it("agrees with the relay's rule on every name", () => {
    const typed = string({
      unit: constantFrom('a', 'z', '0', '-', 'x', 'n', 'A', ' '),
      minLength: 1,
      maxLength: 70,
    });
    assertProperty(property(typed, (name) => (nameProblem(name) === undefined) === NAME_PATTERN.test(name)));
  });

  it('corrects capitals and spaces', () => assert.equal(tidyName('My Shop_demo'), 'my-shop-demo'));
});

const vite = { port: 5173, process: 'node', framework: 'Vite' };
const postgres = { port: 5432, process: 'postgres', framework: undefined };
const unknown = { port: 9000, process: undefined, framework: undefined };

describe('ports', () => {
  it('accept a port, or explain what to change', () => {
    assert.equal(readPort(' 3000 '), 3000);
    assert.match(String(readPort('')), /such as 3000/);
    for (const text of ['0', '65536', '30.5', '3e3', '-1', 'web']) {
      assert.match(String(readPort(text)), /from 1 to 65535/, text);
    }
  });

  it('are suggested by number, program and framework', () => {
    const ports = [vite, postgres, unknown];
    assert.deepEqual(suggestedPorts(ports, ''), ports);
    assert.deepEqual(suggestedPorts(ports, '54'), [postgres]);
    assert.deepEqual(suggestedPorts(ports, 'VITE'), [vite]);
    assert.deepEqual(suggestedPorts(ports, 'post'), [postgres]);
  });

  it('include a completely typed port first, and all others after it', () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ ...unknown, port: 9000 + index }));
    const suggested = suggestedPorts(many, '9019').map(({ port }) => port);
    assert.deepEqual(suggested, [9019, 9000, 9001, 9002, 9003, 9004, 9005, 9006]);
  });

  it('exclude ports that a live tunnel forwards to', () => {
    const live = exampleTunnel({ localPort: 5173 });
    const ended = exampleTunnel({ localPort: 5432, status: { name: 'ended', reason: 'stopped', why: '' } });
    assert.deepEqual(freePorts([vite, postgres], [live, ended]), [postgres]);
  });

  it('have a hint about the typed port', () => {
    assert.equal(portHint('5173', [vite]), 'Vite');
    assert.equal(portHint('5432', [postgres]), 'postgres');
    assert.equal(portHint('9000', [unknown]), 'a program is running');
    assert.equal(portHint('9001', [unknown]), 'nothing listening yet');
    assert.equal(portHint('web', [unknown]), undefined);
  });
});
