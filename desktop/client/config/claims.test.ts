import assert from 'node:assert/strict';
import { type Access, OPEN } from '../../../shared/access.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { describeFailure, NameInUse, type NameSource } from '../failures.ts';
import { claimNames, claimRequest } from './claims.ts';
import type { Prompt } from './relay-access.ts';

function answering(answer: string): Prompt & { readonly questions: string[] } {
  const questions: string[] = [];
  const ask = (question: string): Promise<string> => {
    questions.push(question);
    return Promise.resolve(answer);
  };
  return { isInteractive: true, ask, askSecret: ask, questions };
}

type Live = Partial<Pick<Tunnel, 'online' | 'access'>>;

function claim(live: Live, options: Partial<Parameters<typeof claimNames>[2]>, wanted: Partial<Access> = {}) {
  const tunnels = [
    { ...TUNNEL, id: 'other', name: '' },
    { ...TUNNEL, id: 'live', name: 'shop', online: false, ...live },
  ];
  return claimNames(
    { listTunnels: () => Promise.resolve(tunnels) },
    [
      { name: 'shop', access: { ...OPEN, ...wanted } },
      { name: undefined, access: OPEN },
    ],
    { from: 'person', ...options },
  ).then((claims) => claims.get('shop'));
}

const token = { name: 'ci', token: undefined };

describe('claimNames', () => {
  const rows: readonly (readonly [string, NameSource, Live, Partial<Access>, string])[] = [
    ['a person typed the name', 'person', { access: { links: true } }, {}, 'take-over'],
    ['a program chose the name', 'program', { access: {} }, {}, 'program'],
    ['a file asks for an open tunnel as before', 'file', { access: {} }, {}, 'take-over'],
    ['a file locks an open tunnel', 'file', { access: {} }, { password: 'three words' }, 'take-over'],
    ['a file opens a locked tunnel', 'file', { access: { links: true } }, {}, 'access'],
    ['a file has the same policy', 'file', { access: { links: true } }, { links: true }, 'take-over'],
    ['a file has another policy', 'file', { access: { links: true } }, { knock: true }, 'access'],
    [
      'a file allows the same networks',
      'file',
      { access: { allow: ['10.0.0.0/8', '192.0.2.7'] } },
      { allow: ['192.0.2.7', '10.0.0.0/8'] },
      'take-over',
    ],
    ['a file allows more', 'file', { access: { allow: ['192.0.2.7'] } }, { allow: ['0.0.0.0/0'] }, 'access'],
    [
      'a file has the same tokens',
      'file',
      { access: { tokens: [{ name: 'ci' }] } },
      { tokens: [token] },
      'take-over',
    ],
    [
      'a file lets the same people and agents sign in',
      'file',
      { access: { sign_in: ['*@b.example', 'ann@a.example'], oauth: true } },
      { sign_in: ['ann@a.example', '*@b.example'], oauth: true },
      'take-over',
    ],
    [
      'a file lets others sign in',
      'file',
      { access: { sign_in: ['*@a.example'] } },
      { sign_in: ['*'] },
      'access',
    ],
    [
      'a file lets agents sign in',
      'file',
      { access: { links: true } },
      { links: true, oauth: true },
      'access',
    ],
    [
      'a file has more tokens',
      'file',
      { access: { tokens: [{ name: 'ci' }] } },
      { tokens: [token, { ...token, name: 'x' }] },
      'access',
    ],
    ['a password may differ', 'file', { access: { password: true } }, { password: 'three words' }, 'access'],
    [
      'a login may differ',
      'file',
      { access: { basic: ['ann'] } },
      { basic: [{ user: 'ann', password: 'pass' }] },
      'access',
    ],
    ['the relay shows an unknown rule', 'file', { access: { later: ['x'] } as object }, {}, 'access'],
  ];
  for (const [what, from, live, wanted, expected] of rows) {
    it(`decides about a tunnel without a client: ${what}: ${expected}`, async () => {
      const made = await claim(live, { from }, wanted);
      if (expected === 'take-over') assert.equal(made, 'take-over');
      else
        assert.equal((made as NameInUse).message, new NameInUse('shop', expected as 'access', from).message);
    });
  }

  for (const from of ['person', 'file', 'program'] as const) {
    it(`leaves a tunnel with a client alone if nobody can be asked (${from})`, async () => {
      assert.ok((await claim({ online: true }, { from })) instanceof NameInUse);
    });
  }

  for (const [answer, isTaken] of Object.entries({ y: true, 'Yes ': true, '': false, n: false }))
    it(`asks about a tunnel with a client, and about another policy of a file: "${answer}"`, async () => {
      const prompt = answering(answer);
      const online = await claim({ online: true }, { prompt });
      const other = await claim({ access: { links: true } }, { from: 'file', prompt });
      for (const made of [online, other]) assert.equal(made === 'take-over', isTaken);
      const [first = '', second = ''] = prompt.questions;
      assert.match(first, /"shop" from its port 3000\. Take over the tunnel\? \[y\/N\] $/);
      assert.match(second, /"shop" to port 3000 has another access policy than culvert\.yml/);
    });

  it('does as told beforehand, but never for a program, and takes back what this process made', async () => {
    const locked: Live = { access: { links: true } };
    const made = new Set(['live']);
    assert.equal(await claim({ online: true }, { from: 'file', takesOver: true }), 'take-over');
    assert.equal(await claim(locked, { from: 'file', takesOver: true }), 'take-over');
    const prompt = answering('y');
    assert.ok((await claim({}, { from: 'program', takesOver: true, prompt })) instanceof NameInUse);
    assert.deepEqual(prompt.questions, []);
    for (const from of ['program', 'file'] as const)
      assert.equal(await claim(locked, { from, made }), 'take-over');
  });

  it('sends no request without a name, and ignores errors, which the create reports', async () => {
    const failing = { listTunnels: () => Promise.reject(new Error('down')) };
    const from = 'person';
    assert.equal((await claimNames(failing, [{ name: undefined, access: OPEN }], { from })).size, 0);
    assert.equal((await claimNames(failing, [{ name: 'shop', access: OPEN }], { from })).size, 0);
  });
});

describe('claimRequest', () => {
  it('asks for the take-over, and throws for a name that is left alone', () => {
    const request = { local_port: 1 };
    assert.equal(claimRequest(request, undefined), request);
    assert.deepEqual(claimRequest(request, 'take-over'), { local_port: 1, take_over: true });
    const claimed = new NameInUse('shop', 'access', 'file');
    assert.throws(() => claimRequest(request, claimed), claimed);
    assert.match(describeFailure(claimed), /--take-over/);
  });
});
