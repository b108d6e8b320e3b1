import assert from 'node:assert/strict';
import { administer, createAccount } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { type Field, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const HTML: Field = ['Accept', 'text/html'];

describe('invitations', () => {
  const { scope, relay } = sharedRelaySuite();

  async function invite(): Promise<{ account: string; origin: string; path: string }> {
    const { name } = await createAccount(relay);
    const { invites } = (await administer(relay, 'invite', 'create', '--account', name)) as {
      invites: { url: string }[];
    };
    const { origin, pathname } = new URL(invites[0]?.url ?? '');
    return { account: name, origin, path: pathname };
  }

  async function open(target: string, headers: Field[] = [HTML]) {
    return await visit(relay.port, { host: `localhost:${relay.port}`, target, headers });
  }

  async function take(path: string, body = '{}') {
    return await new Api(relay, undefined).send('POST', path.replace('/invite/', '/v1/invites/'), { body });
  }

  it('are pages that name the invited person and the relay, and do not use up the invitation', async () => {
    const { account, path } = await invite();
    for (let looks = 0; looks < 3; looks += 1) {
      const { status, text, head } = await open(path);
      assert.equal(status, 200);
      assert.match(text, new RegExp(`as <strong>${account}</strong>`));
      assert.ok(text.includes(`culvert login http://localhost:${relay.port}${path}`));
      assert.ok(text.includes(`culvert http 3000 --relay http://localhost:${relay.port}${path}`));
      assert.match(head.field('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-/);
      assert.doesNotMatch(head.field('content-security-policy') ?? '', /unsafe/);
      assert.equal(head.field('referrer-policy'), 'no-referrer');
      assert.equal(head.field('cache-control'), 'no-store');
    }
    const { json } = await new Api(relay, undefined).send('GET', path);
    assert.equal((json as { account: string }).account, account);
    assert.equal((await take(path)).status, 201);
  });

  it('begin with the public URL of the relay, which the command reads from the database', async () => {
    assert.equal((await invite()).origin, `http://localhost:${relay.port}`);
  });

  it('give out a key once', async () => {
    const { account, path } = await invite();
    const { status, json, head } = await take(path, '{"machine":"Ann\'s laptop"}');
    const taken = json as Record<string, string>;
    assert.equal(status, 201);
    assert.equal(head.field('cache-control'), 'no-store');
    assert.deepEqual(Object.keys(taken), ['id', 'account', 'key', 'relay']);
    assert.deepEqual([taken['account'], taken['relay']], [account, `http://localhost:${relay.port}`]);
    assert.equal((await new Api(relay, taken['key']).account()).name, account);
    const { keys } = (await administer(relay, 'key', 'list', '--account', account)) as {
      keys: { id: string; label: string }[];
    };
    assert.equal(keys.find(({ id }) => id === taken['id'])?.label, "Ann's laptop");
    assertError(await take(path), 404, 'this invitation was already used, has expired, or never existed');
    const ended = await open(path);
    assert.deepEqual([ended.status, /This invitation is no longer valid/.test(ended.text)], [404, true]);
  });

  it('are not accepted with an invalid body', async () => {
    const { path } = await invite();
    for (const [body, text] of [
      ['[]', 'invalid request body'],
      ['{', 'invalid request body'],
      ['{"machine":1}', 'machine must be at most 100 characters without control characters'],
      [
        `{"machine":"${'x'.repeat(101)}"}`,
        'machine must be at most 100 characters without control characters',
      ],
    ] as const)
      assertError(await take(path, body), 400, text);
    assert.equal((await take(path, '')).status, 201);
  });

  it('sign culvert in with one command, without further questions', async () => {
    const { account, path } = await invite();
    const config = { XDG_CONFIG_HOME: temporaryDirectory(scope) };
    const login = spawnCulvert(scope, ['login', `${relay.url}${path}`], config);
    assert.equal((await login.exit()).code, 0, login.stderr);
    assert.match(login.lines.join('\n'), new RegExp(`Signed in to ${relay.url} as ${account}`));
    const list = spawnCulvert(scope, ['list', '--json'], config);
    assert.equal((await list.exit()).code, 0, list.stderr);
    const again = spawnCulvert(scope, ['login', `${relay.url}${path}`], config);
    assert.equal((await again.exit()).code, 1);
    assert.match(again.stderr, /was already used/);
  });
});

describe("the relay's address", () => {
  const { relay } = sharedRelaySuite();

  it('shows a page to people, and nothing to programs', async () => {
    const host = `localhost:${relay.port}`;
    const page = await visit(relay.port, { host, headers: [HTML] });
    assert.equal(page.status, 200);
    assert.match(page.text, /<h1>A Culvert relay<\/h1>/);
    assert.ok(page.text.includes(`culvert login --relay http://localhost:${relay.port}`));
    const head = await visit(relay.port, { host, method: 'HEAD', headers: [HTML] });
    assert.deepEqual([head.status, head.text], [200, '']);
    assertError(await new Api(relay, undefined).send('GET', '/'), 404, 'not found');
  });
});
