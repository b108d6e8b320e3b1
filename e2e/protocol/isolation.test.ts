import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createAccount, onlyAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { newApiKey } from '../support/programs.ts';
import {
  type Field,
  formatRequest,
  RawConnection,
  type Response,
  visit,
  WEBSOCKET,
} from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

/** Fields that differ between any two responses. */
const OWN_OF_EACH_ANSWER = new Set(['date', 'x-request-id']);
const GUESSES = 1000;
const GUESSERS = 4;
/** ms for the guesses. An id is valid for 10 s. */
const GUESSING_MS = 3000;

interface Operation {
  readonly method: string;
  readonly target: (id: string) => string;
  readonly body?: string;
  readonly headers?: readonly Field[];
}

/** Every API operation with an id. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  get: { method: 'GET', target: (id) => `/v1/tunnels/${id}` },
  'get the head of': { method: 'HEAD', target: (id) => `/v1/tunnels/${id}` },
  close: { method: 'DELETE', target: (id) => `/v1/tunnels/${id}` },
  extend: { method: 'PUT', target: (id) => `/v1/tunnels/${id}/extend` },
  'extend by a time': { method: 'PUT', target: (id) => `/v1/tunnels/${id}/extend`, body: '{"ttl":"1s"}' },
  'extend by the maximum': {
    method: 'PUT',
    target: (id) => `/v1/tunnels/${id}/extend`,
    body: '{"ttl":"168h"}',
  },
  'extend by too much': { method: 'PUT', target: (id) => `/v1/tunnels/${id}/extend`, body: '{"ttl":"169h"}' },
  'extend by nonsense': { method: 'PUT', target: (id) => `/v1/tunnels/${id}/extend`, body: '{' },
  post: { method: 'POST', target: (id) => `/v1/tunnels/${id}`, body: '{}' },
  control: { method: 'GET', target: (id) => `/ws/control?tunnel_id=${id}`, headers: WEBSOCKET },
  'offer a data socket to': { method: 'GET', target: (id) => `/ws/data?tunnel_id=${id}`, headers: WEBSOCKET },
  'open a data socket of': { method: 'GET', target: (id) => `/ws/data?id=${id}`, headers: WEBSOCKET },
  'control, without an upgrade': { method: 'GET', target: (id) => `/ws/control?tunnel_id=${id}` },
};

/** A response without the parts that differ between any two. */
function comparable({ head, text }: Response): unknown {
  const fields = head.fields.filter(([name]) => !OWN_OF_EACH_ANSWER.has(name.toLowerCase()));
  return [head.version, head.status, head.reason, fields, text];
}

/** A text of the same form that was never an id. */
function unknownLike(id: string): string {
  const unknown = randomUUID();
  if (/^[0-9a-f-]{36}$/.test(id)) return unknown;
  if (/^[0-9A-F-]{36}$/.test(id)) return unknown.toUpperCase();
  if (/^%[0-9A-F]{2}[0-9a-f-]{35}$/.test(id)) return id.slice(0, 3) + unknown.slice(1);
  return id.replaceAll(/[a-z]/g, 'q');
}

describe('two accounts', () => {
  const { scope, relay } = sharedRelaySuite();

  async function ask({ target, ...operation }: Operation, id: string, key?: string): Promise<Response> {
    const authorization: Field[] = key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
    const headers = [...(operation.headers ?? []), ...authorization];
    return await visit(relay.port, {
      ...operation,
      host: `localhost:${relay.port}`,
      target: target(id),
      headers,
    });
  }

  /** Creates one resource of every kind for an account, and returns all ids. */
  async function furnish(owner: TestAccount) {
    const expired = await owner.api.create({ local_port: 9, ttl: '1s' });
    const closed = await owner.api.create({ local_port: 9 });
    await owner.api.close(closed.id);
    const offline = await owner.api.create({ local_port: 9, idle_ttl: true });
    const client = await ManualClient.start(scope, relay, onlyAccount(owner), {
      name: `named-${owner.name}`,
    });
    const served = await RawConnection.open(scope, relay.port);
    await served.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    await eventually(20_000, async () =>
      assert.equal((await owner.api.send('GET', `/v1/tunnels/${expired.id}`)).status, 404),
    );
    const { id } = client.tunnel;
    const ids: Readonly<Record<string, string>> = {
      'an online tunnel': id,
      'an offline tunnel': offline.id,
      'a closed tunnel': closed.id,
      'an expired tunnel': expired.id,
      'a used connection': data.id,
      'an account': owner.id,
      'a key': owner.keyId,
      'a tunnel, in capitals': id.toUpperCase(),
      'a tunnel, percent-encoded': `%${id.charCodeAt(0).toString(16).toUpperCase()}${id.slice(1)}`,
      'a slug': offline.slug,
      'a name': client.tunnel.slug,
    };
    return { ids, client, offline, data, served };
  }

  describe('are separate: the stranger', () => {
    let owner: TestAccount;
    let stranger: TestAccount;
    let furniture: Awaited<ReturnType<typeof furnish>>;

    before(async () => {
      [owner, stranger] = await Promise.all([
        createAccount(relay, { subdomain: 'one' }),
        createAccount(relay, { subdomain: 'two' }),
      ]);
      furniture = await furnish(owner);
    });

    it('gets, for every operation and every id, the response for an unknown id', async () => {
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        for (const [kind, id] of Object.entries(furniture.ids)) {
          const [answer, reference] = await Promise.all([
            ask(operation, id, stranger.key),
            ask(operation, unknownLike(id), stranger.key),
          ]);
          assert.ok(answer.status >= 400, `${name} ${kind} succeeded`);
          assert.deepEqual(comparable(answer), comparable(reference), `${name} ${kind}`);
        }
      }
    });

    it('gets no further without a key, or with an unknown one', async () => {
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        for (const [kind, id] of Object.entries(furniture.ids)) {
          for (const key of [undefined, newApiKey()]) {
            const [answer, reference] = await Promise.all([
              ask(operation, id, key),
              ask(operation, unknownLike(id), key),
            ]);
            assert.ok(answer.status >= 400, `${name} ${kind} succeeded`);
            assert.deepEqual(comparable(answer), comparable(reference), `${name} ${kind}`);
          }
        }
      }
    });

    it('gets nothing for the id of a waiting connection, which stays valid for its owner', async () => {
      const { client } = furniture;
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        // One visitor for each: an id is valid for 10 s.
        const waiting = await RawConnection.open(scope, relay.port);
        await waiting.write(formatRequest({ host: client.host }));
        const id = await client.announced();
        const [answer, reference] = await Promise.all([
          ask(operation, id, stranger.key),
          ask(operation, unknownLike(id), stranger.key),
        ]);
        assert.ok(answer.status >= 400, `${name} succeeded`);
        assert.deepEqual(comparable(answer), comparable(reference), name);
        // No data socket is kept for the next visitor, which would then need no id.
        (await client.open(id)).send('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');
        assert.equal((await waiting.response()).status, 204);
      }
    });

    it('sees none of it in its list', async () => {
      const mine = new Set(Object.values(furniture.ids));
      for (const { id, client_id } of await stranger.api.list()) {
        assert.ok(!mine.has(id));
        assert.equal(client_id, stranger.id);
      }
    });

    it('does not lend it an address', async () => {
      const { slug } = furniture.client.tunnel;
      const answers = await Promise.all(
        [slug, slug.replaceAll(/[a-z]/g, 'q')].map((label) =>
          visit(relay.port, { host: `${label}.two.localhost:${relay.port}` }),
        ),
      );
      const [answer, reference] = answers.map(comparable);
      assert.equal(answers[0]?.head.field('culvert-error'), 'tunnel-unknown');
      assert.deepEqual(answer, reference);
    });

    it('has changed nothing', async () => {
      const { client, offline, data, served } = furniture;
      const lives = (await owner.api.list()).map(({ id, expires_at }) => ({ id, expires_at }));
      for (const { id, expires_at } of [offline, client.tunnel]) {
        assert.ok(lives.some((life) => life.id === id && life.expires_at === expires_at));
      }
      data.send('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await served.response()).status, 204);
      const next = await RawConnection.open(scope, relay.port);
      await next.write(formatRequest({ host: hostOf(client.tunnel, relay) }));
      (await client.accept()).send('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await next.response()).status, 204);
    });
  });

  it('cannot guess the id of a waiting connection', async () => {
    const owner = await createAccount(relay);
    const client = await ManualClient.start(scope, relay, onlyAccount(owner));
    const waiting = await RawConnection.open(scope, relay.port);
    await waiting.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    const end = performance.now() + GUESSING_MS;
    const guess = async (): Promise<void> => {
      const connection = await RawConnection.open(scope, relay.port);
      for (let count = 0; count < GUESSES / GUESSERS && performance.now() < end; count += 1) {
        const target = `/ws/data?id=${randomUUID()}`;
        const answer = await connection.request({ host: 'localhost', target, headers: WEBSOCKET });
        assert.equal(answer.status, 404);
      }
    };
    await Promise.all(Array.from({ length: GUESSERS }, guess));
    (await client.open(id)).send('HTTP/1.1 204 No Content\r\n\r\n');
    assert.equal((await waiting.response()).status, 204);
  });
});
