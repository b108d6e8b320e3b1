import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool } from '../support/accounts.ts';
import { timed } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { HandshakeRefused } from '../support/spec-client/websocket.ts';

/** What a visitor got, and how many ms that took. */
type Visit = Awaited<ReturnType<typeof timed<Response>>>;

/**
 * The rendezvous of an inbound connection with its client takes up to ten seconds where it fails, so all of these
 * happen at the same time, each on a tunnel of its own, and the tests look at what came of them.
 */
class Scenarios {
  readonly #scope: Scope;
  readonly #relay: Relay;
  readonly #pool: AccountPool;

  constructor(scope: Scope, relay: Relay) {
    this.#scope = scope;
    this.#relay = relay;
    this.#pool = new AccountPool(relay);
  }

  async #client(): Promise<ManualClient> {
    return await ManualClient.start(this.#scope, this.#relay, this.#pool);
  }

  #visit(host: string): Promise<Visit> {
    return timed(() => visit(this.#relay.port, { host }));
  }

  async neverConnected(): Promise<Visit> {
    const { tunnel } = await this.#pool.tunnel();
    return await this.#visit(hostOf(tunnel, this.#relay));
  }

  async announcedAndIgnored(): Promise<Visit> {
    const client = await this.#client();
    return await this.#visit(client.host);
  }

  async openedTooLate(): Promise<number> {
    const client = await this.#client();
    const visitor = await RawConnection.open(this.#scope, this.#relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    await delay(10_500);
    return await client.open(id).then(
      () => 101,
      (error: unknown) => (error instanceof HandshakeRefused ? error.response.status : 0),
    );
  }

  async openedJustInTime(): Promise<Visit> {
    const client = await this.#client();
    const answer = this.#visit(client.host);
    const id = await client.announced();
    await delay(8500);
    const data = await client.open(id);
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');
    return await answer;
  }

  async droppedAndBack(): Promise<{ visit: Visit; awayMs: number }> {
    const client = await this.#client();
    client.control.socket.drop();
    await client.control.closed;
    const left = performance.now();
    const answer = this.#visit(client.host);
    await delay(6000);
    await client.reconnect();
    const awayMs = performance.now() - left;
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback');
    return { visit: await answer, awayMs };
  }

  async droppedForGood(): Promise<Visit> {
    const client = await this.#client();
    client.control.socket.drop();
    await client.control.closed;
    return await this.#visit(client.host);
  }

  async closedBeforeAnswering(): Promise<Visit> {
    const client = await this.#client();
    const answer = this.#visit(client.host);
    const data = await client.accept();
    data.socket.close(1000);
    return await answer;
  }

  async closedWithinTheHead(): Promise<Visit> {
    const client = await this.#client();
    const answer = this.#visit(client.host);
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Le');
    data.socket.close(1000);
    return await answer;
  }

  async visitorLeftBefore(): Promise<number> {
    const client = await this.#client();
    const visitor = await RawConnection.open(this.#scope, this.#relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    visitor.reset();
    await delay(500);
    return await client.open(id).then(
      async (data) => (await data.socket.closed).code,
      (error: unknown) => (error instanceof HandshakeRefused ? error.response.status : 0),
    );
  }

  async incompleteHead(): Promise<Visit> {
    const client = await this.#client();
    const visitor = await RawConnection.open(this.#scope, this.#relay.port);
    await visitor.write(`GET / HTTP/1.1\r\nHost: ${client.host}\r\nX-Never-`);
    return await timed(() => visitor.response());
  }
}

function assertOwnAnswer({ value }: Visit, status: number, code: string): void {
  assert.deepEqual([value.status, value.head.field('culvert-error')], [status, code]);
}

describe('the rendezvous of an inbound connection with its client', () => {
  const scope = suiteScope();
  let outcome: Awaited<ReturnType<typeof playAll>>;

  async function playAll(relay: Relay) {
    const scenarios = new Scenarios(scope, relay);
    const [
      neverConnected,
      ignored,
      tooLate,
      justInTime,
      back,
      forGood,
      closedBefore,
      closedWithin,
      visitorLeft,
      incompleteHead,
    ] = await Promise.all([
      scenarios.neverConnected(),
      scenarios.announcedAndIgnored(),
      scenarios.openedTooLate(),
      scenarios.openedJustInTime(),
      scenarios.droppedAndBack(),
      scenarios.droppedForGood(),
      scenarios.closedBeforeAnswering(),
      scenarios.closedWithinTheHead(),
      scenarios.visitorLeftBefore(),
      scenarios.incompleteHead(),
    ]);
    return {
      neverConnected,
      ignored,
      tooLate,
      justInTime,
      back,
      forGood,
      closedBefore,
      closedWithin,
      visitorLeft,
      incompleteHead,
    };
  }

  before(async function () {
    this.timeout(40_000);
    outcome = await playAll(await Relay.start(scope));
  });

  it('503 tunnel-offline for a tunnel whose client never connected', () => {
    assertOwnAnswer(outcome.neverConnected, 503, 'tunnel-offline');
    assert.ok(outcome.neverConnected.ms < 11_000);
  });

  it('504 client-timeout when no data socket comes within 10 s', () => {
    assertOwnAnswer(outcome.ignored, 504, 'client-timeout');
    const { ms } = outcome.ignored;
    assert.ok(ms > 9500 && ms < 12_000, `after ${ms} ms`);
  });

  it('404 for a data socket after 10 s', () => {
    assert.equal(outcome.tooLate, 404);
  });

  it('a data socket after 8.5 s is in time', () => {
    assert.equal(outcome.justInTime.value.text, 'late');
  });

  it('a client that drops and comes back within 10 s loses nothing', () => {
    assert.equal(outcome.back.visit.value.text, 'back');
    assert.ok(outcome.back.visit.ms >= outcome.back.awayMs - 500, 'the request waited');
  });

  it('503 tunnel-offline when it does not come back', () => {
    assertOwnAnswer(outcome.forGood, 503, 'tunnel-offline');
    assert.ok(outcome.forGood.ms < 12_000);
  });

  it('502 client-closed when the client closes before a full response head', () => {
    assertOwnAnswer(outcome.closedBefore, 502, 'client-closed');
    assertOwnAnswer(outcome.closedWithin, 502, 'client-closed');
  });

  it('a visitor that leaves takes the pending connection along', () => {
    // Gone when the client asks, or ended at once if the client was quicker than the news.
    assert.ok([404, 1000, 1001, 1005, 1006, 1011].includes(outcome.visitorLeft), String(outcome.visitorLeft));
  });

  it('408 for a head that is not complete within 15 s', () => {
    assert.equal(outcome.incompleteHead.value.status, 408);
    const { ms } = outcome.incompleteHead;
    assert.ok(ms > 14_000 && ms < 18_000, `after ${ms} ms`);
  });
});
