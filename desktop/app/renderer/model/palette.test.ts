import assert from 'node:assert/strict';
import { exampleOther, exampleRequest, exampleSignIn, exampleTunnel } from '../../../testing/views.ts';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { type Acts, canDo } from './actions.ts';
import { foundEntries, paletteEntries } from './palette.ts';

const NOTHING = { tunnels: [], others: [], names: [], ports: [], projects: [], signIns: [] };

describe('the command palette', () => {
  const shop = exampleTunnel({
    key: 's',
    slug: 'shop',
    localPort: 5173,
    requests: 2,
    recent: [
      exampleRequest({ id: 2, startedAt: 20, method: 'POST', target: '/caf%C3%A9' }),
      exampleRequest({ id: 1, startedAt: 5, target: '/a%E2%80%AEb' }),
    ],
  });
  const hooks = exampleTunnel({
    key: 'h',
    slug: 'hooks',
    localPort: 3000,
    status: { name: 'ended', reason: 'stopped', why: '' },
    recent: [exampleRequest({ id: 7, startedAt: 9, target: '/hook', status: 500 })],
  });
  const ports = [
    { port: 5173, process: 'node', framework: 'Vite' },
    { port: 8000, process: 'python', framework: undefined },
  ];
  const projects = [{ name: 'web shop', folder: '/home/ann/web shop' }];
  const entries = paletteEntries({ ...NOTHING, tunnels: [shop, hooks], ports, projects }, 0);
  const labels = (typed: string): readonly string[] =>
    foundEntries(entries, [shop, hooks], typed).map(({ title }) => title);

  const idsIn = (window: Parameters<typeof canDo>[1]): readonly string[] =>
    entries.filter((entry) => canDo(entry, window)).map(({ id }) => id);

  it('ends the app only in the app, and finds the team by what people look for', () => {
    assert.ok(idsIn({ isBrowser: false, isOfCommand: false }).includes('command-quit'));
    assert.ok(!idsIn({ isBrowser: true, isOfCommand: false }).includes('command-quit'));
    assert.equal(labels('invite')[0], 'Team');
  });

  it('offers in the window of a command only what is about its tunnels', () => {
    const ids = idsIn({ isBrowser: true, isOfCommand: true });
    for (const id of [
      'tunnel-s',
      'request-s-2',
      'command-replay-s-2',
      'command-copy-s',
      'command-lock-s',
      'command-dark',
      'command-settings',
    ])
      assert.ok(ids.includes(id), id);
    for (const id of [
      'port-8000',
      'command-new',
      'command-share',
      'command-project',
      'command-project-0',
      'command-team',
      'command-sign-out',
      'command-quit',
      'command-stop-s',
      'command-start-h',
    ]) {
      assert.ok(entries.some((entry) => entry.id === id) && !ids.includes(id), id);
    }
  });

  it('chooses the other accounts, and adds one', () => {
    const signIns = [
      exampleSignIn(),
      exampleSignIn({ id: 's2', account: 'home', isChosen: false, running: 2 }),
    ];
    const all = paletteEntries({ ...NOTHING, signIns }, 0);
    const found = (typed: string) => foundEntries(all, [], typed)[0];
    const account = all.find(({ group }) => group === 'accounts');
    assert.deepEqual([account?.title, account?.detail], ['home', 'tunnels.example.com (2 running)']);
    assert.equal(found('home'), account);
    assert.equal(found('tunnels.example')?.id, 'sign-in-s2');
    assert.equal(found('add account')?.id, 'command-add-sign-in');
    const calls: unknown[] = [];
    const call = (...asked: unknown[]) => Promise.resolve(calls.push(asked));
    void account?.run({ call } as unknown as Acts);
    assert.deepEqual(calls, [['session:choose', { id: 's2' }]]);
    assert.ok(account !== undefined && !canDo(account, { isBrowser: true, isOfCommand: true }));
  });

  const shortcuts = (typed: string) => foundEntries(entries, [], typed).map(({ keys }) => keys);

  it('has tunnels, requests, free ports and commands, in this order, without commands of single tunnels', () => {
    assert.deepEqual(labels('').slice(0, 7), [
      'shop',
      'hooks',
      'POST /café',
      'GET /hook',
      'GET /a\\u{202e}b',
      'New tunnel to 8000',
      'New tunnel',
    ]);
    assert.equal(labels('').includes('Stop shop'), false);
  });

  it('finds entries with every word, in any case, including commands of single tunnels', () => {
    assert.deepEqual(labels('STOP shop'), [
      'Stop shop',
      'Requests to shop with “STOP shop”',
      'Requests to hooks with “STOP shop”',
    ]);
    assert.deepEqual(labels('hooks again')[0], 'Start hooks again');
    assert.deepEqual(labels('python')[0], 'New tunnel to 8000');
    assert.deepEqual(labels('500')[0], 'GET /hook');
  });

  it('finds every request of a log that was read, and a port that somebody types', () => {
    const requests = [3, 2, 1].map((id) => exampleRequest({ id, startedAt: id, target: `/order/${id}` }));
    const read = paletteEntries({ ...NOTHING, tunnels: [shop, hooks] }, 0, new Map([['h', requests]]));
    const titles = (typed: string) => foundEntries(read, [shop, hooks], typed).map(({ title }) => title);
    assert.deepEqual(titles('/order/1').slice(0, 1), ['GET /order/1']);
    assert.ok(!titles('hook').includes('GET /hook'));
    assert.equal(titles('8123')[0], 'New tunnel to 8123');
    assert.ok(!titles('5173').includes('New tunnel to 5173'), 'it has a tunnel');
    for (const typed of ['0000', '65536', '404', '8000x'])
      assert.ok(!titles(typed).some((title) => title.startsWith('New tunnel to')), typed);
  });

  it('finds every action by the words that people type for it', () => {
    const first: Readonly<Record<string, string>> = {
      expose: 'New tunnel',
      lock: 'Who has access to shop',
      password: 'Who has access to shop',
      qr: 'QR code of shop',
      extend: 'Extend shop',
      replay: 'Replay POST /café',
      export: 'Requests to shop',
      'find out': 'Find out why the relay cannot be reached',
      pause: 'Requests to shop',
      german: 'Language: Deutsch',
      keys: 'Keys of the window',
      stop: 'Stop shop',
      edit: 'Edit and send POST /café',
      curl: 'Copy POST /café as curl',
      logout: 'Sign out',
    };
    for (const [typed, label] of Object.entries(first)) assert.equal(labels(typed)[0], label, typed);
  });

  it('shows the best match first, whatever its group', () => {
    const stop = exampleTunnel({ key: 'x', slug: 'x', recent: [exampleRequest({ target: '/stop' })] });
    const all = paletteEntries({ ...NOTHING, tunnels: [stop] }, 0);
    assert.equal(foundEntries(all, [stop], 'stop')[0]?.title, 'Stop x');
  });

  it("finds the account's tunnels served elsewhere, with their place and their commands", () => {
    const otter = exampleOther({
      key: 'o',
      slug: 'brisk-otter',
      localPort: 4000,
      log: { epoch: 0, revision: 0 },
    });
    const gone = exampleOther({ key: 'g', slug: 'grey-otter', isStopping: true });
    const all = paletteEntries({ ...NOTHING, tunnels: [shop], others: [otter, gone] }, 0);
    const found = (typed: string) => foundEntries(all, [], typed);
    assert.deepEqual(
      found('otter').map(({ title }) => title),
      [
        'brisk-otter',
        'grey-otter',
        'Copy the address of brisk-otter',
        'Requests to brisk-otter',
        'Open brisk-otter',
        'Stop brisk-otter',
        'Copy the address of grey-otter',
      ],
    );
    const [first] = found('4000 command');
    assert.deepEqual(
      [first?.detail, first?.keys],
      ['port 4000 · The command on this computer · Online', undefined],
    );
    const shown: string[] = [];
    const show: Acts['show'] = (focus, key) => shown.push(`${focus} of ${key}`);
    void first?.run({ show } as Partial<Acts> as Acts);
    assert.deepEqual(shown, ['copy-o of o']);
  });

  it('pauses a tunnel with a name, resumes it, and leaves messages at kept names', () => {
    const [live, ended] = [
      { ...shop, name: 'shop' },
      { ...hooks, name: 'hooks' },
    ];
    const kept = { key: 'hooks', isLive: false, away: undefined, until: undefined };
    const all = paletteEntries(
      { ...NOTHING, tunnels: [live, ended], names: [kept, { ...kept, key: 'docs' }] },
      0,
    );
    const first = (typed: string) => foundEntries(all, [], typed)[0];
    assert.equal(first('pause shop')?.title, 'Pause shop');
    assert.equal(first('resume')?.title, 'Resume hooks');
    assert.equal(all.find(({ id }) => id === 'tunnel-h')?.detail, 'localhost:3000 · Paused');
    const did: string[] = [];
    const acts = {
      unfold: (key: string, part) => did.push(`unfold ${part} ${key}`),
      show: (focus: string, key = 'no tunnel') => did.push(`show ${focus} ${key}`),
    } as Partial<Acts> as Acts;
    for (const typed of ['message hooks', 'message docs']) void first(typed)?.run(acts);
    assert.deepEqual(did, [
      'unfold away h',
      'show away-form-h-text h',
      'unfold away name-docs',
      'show away-form-name-docs-text no tunnel',
    ]);
    assert.ok(!all.some(({ title }) => title === 'Message of shop'));
    const named = paletteEntries(
      { ...NOTHING, tunnels: [live], names: [{ ...kept, key: 'shop', isLive: true }] },
      0,
    );
    assert.ok(named.some(({ title }) => title === 'Message of shop'));
  });

  it('offers previous projects once the user types', () => {
    assert.equal(labels('').includes('Open project web shop'), false);
    assert.deepEqual(labels('ann shop'), [
      'Open project web shop',
      'Requests to shop with “ann shop”',
      'Requests to hooks with “ann shop”',
    ]);
  });

  it('numbers the first nine tunnels, and shows the keys of commands', () => {
    assert.deepEqual(shortcuts('localhost:5173'), ['Mod+1']);
    assert.deepEqual(shortcuts('settings'), ['Mod+,']);
    const many = Array.from({ length: 12 }, (_, key) => exampleTunnel({ key: String(key) }));
    const numbered = paletteEntries({ ...NOTHING, tunnels: many }, 0).filter(({ keys }) =>
      /\d/.test(keys ?? ''),
    );
    assert.equal(numbered.length, 9);
  });

  it('shows six entries per group', () => {
    const many = Array.from({ length: 12 }, (_, key) => exampleTunnel({ key: String(key) }));
    const found = foundEntries(paletteEntries({ ...NOTHING, tunnels: many }, 0), many, '');
    assert.equal(found.filter(({ group }) => group === 'tunnels').length, 6);
  });

  it('has a unique id for every entry', () => {
    const ids = entries.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(
      ids.filter((id) => /\s/.test(id)),
      [],
    );
  });

  it('is translated to German, including the search', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    try {
      const german = paletteEntries({ ...NOTHING, tunnels: [shop, hooks], ports, projects }, 0);
      const found = (typed: string) => foundEntries(german, [], typed).map(({ title }) => title);
      assert.deepEqual(found('stoppen'), ['shop stoppen']);
      assert.deepEqual(found('befehle einst'), ['Einstellungen']);
      assert.deepEqual(found('gestoppt'), ['hooks']);
    } finally {
      setLocale(DEFAULT_LOCALE);
    }
  });
});
