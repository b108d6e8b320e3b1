import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { describeOnPosix } from '../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { until } from '../testing/edge-fixture.ts';
import {
  Conversation,
  HANDOFF_READY_MS,
  HANDOFF_STEP_MS,
  type PredecessorMessage,
  readPredecessorMessage,
  SUCCESSION_VERSION,
  type SuccessorMessage,
} from './conversation.ts';
import { HandoffSender, type Replaceable, type Successor } from './give.ts';
import { meet, handoffSocketPath } from './handoff-socket.ts';

const ADDRESS = '127.0.0.1:8080';

/** A relay that records its calls. */
class FakeRelay implements Replaceable {
  readonly address = ADDRESS;
  readonly descriptors = new Map([['visitors', 7]]);
  readonly calls: string[] = [];
  successor: Successor | undefined;
  hasDatabase = true;

  release() {
    this.calls.push('release');
    return Promise.resolve([{ tunnelId: 'one', awayMs: 0 }]);
  }

  resume() {
    this.calls.push('resume');
    return Promise.resolve(this.hasDatabase);
  }

  leave(successor: Successor) {
    this.calls.push('leave');
    this.successor = successor;
  }

  hearEnded(tunnelId: string, reason: string) {
    this.calls.push(`ended ${tunnelId} ${reason}`);
  }

  hearAccess(tunnelId: string) {
    this.calls.push(`access ${tunnelId}`);
  }

  adopt() {
    this.calls.push('adopt');
  }
}

describeOnPosix('the relay that is replaced', () => {
  let folder: string;
  let path: string;
  let relay: FakeRelay;
  let handover: HandoffSender;
  let talk: Conversation<SuccessorMessage, PredecessorMessage>;
  let logged: string[];

  beforeEach(async () => {
    folder = temporaryDirectory();
    path = handoffSocketPath(folder, 8080);
    relay = new FakeRelay();
    logged = [];
    handover = await HandoffSender.open(path, relay, (event) => void logged.push(event));
    talk = await converse();
  });

  afterEach(() => {
    mock.timers.reset();
    talk.destroy();
    handover.close();
  });

  async function converse(changes: object = {}): Promise<typeof talk> {
    const hello = { kind: 'replace', version: SUCCESSION_VERSION, address: ADDRESS, ...changes } as const;
    const socket = await meet(path, hello);
    assert.ok(socket);
    return new Conversation(socket, readPredecessorMessage);
  }

  async function says(message: PredecessorMessage): Promise<void> {
    assert.deepEqual(await talk.next(60_000), message);
  }

  it('releases the database on request, lets the other serve, and leaves once it does', async () => {
    await says({ kind: 'welcome', listeners: ['visitors'] });
    assert.deepEqual(relay.calls, []);
    talk.send({ kind: 'move' });
    await says({ kind: 'moved', clients: [{ tunnelId: 'one', awayMs: 0 }] });
    talk.send({ kind: 'ready' });
    await says({ kind: 'go' });
    talk.send({ kind: 'serving' });
    talk.send({ kind: 'ended', tunnelId: 'one', reason: 'closed' });
    talk.send({ kind: 'access', tunnelId: 'two' });
    await until(() => relay.calls.length === 4);
    assert.deepEqual(relay.calls, ['release', 'leave', 'ended one closed', 'access two']);
    await says({ kind: 'left' });
    const deltas = [{ id: 'one', bytesIn: 1, bytesOut: 2, requests: 1, expiresAt: 5, termsRevision: 0 }];
    relay.successor?.tellCounted(deltas);
    await says({ kind: 'counted', deltas });
  });

  it('refuses another version, another address, and a second one', async () => {
    await says({ kind: 'welcome', listeners: ['visitors'] });
    const reasons: unknown[] = [];
    for (const changes of [{ version: 99 }, { address: '0.0.0.0:8080' }, {}]) {
      const other = await converse(changes);
      reasons.push(await other.next(60_000));
      await other.over;
    }
    assert.deepEqual(reasons, [
      {
        kind: 'refused',
        reason: 'this version cannot replace it; stop the running relay, and start this one',
      },
      {
        kind: 'refused',
        reason: `it is listening on ${ADDRESS}, but this relay is configured for 0.0.0.0:8080; stop the running relay, and start this one`,
      },
      { kind: 'refused', reason: 'another relay is already replacing it' },
    ]);
  });

  it('gives up on a relay that has not loaded within 60 s, and keeps the database', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const other = await converse();
    talk.destroy();
    await other.over;
    await until(() => logged.includes('replacement failed'));
    const slow = await converse();
    assert.equal((await slow.next(HANDOFF_READY_MS + 1))?.kind, 'welcome');
    mock.timers.tick(HANDOFF_READY_MS);
    assert.equal((await slow.next(HANDOFF_READY_MS + 1))?.kind, 'refused');
    assert.deepEqual(relay.calls, []);
  });

  it('continues if the other is silent for 10 s after the database was released', async () => {
    await says({ kind: 'welcome', listeners: ['visitors'] });
    mock.timers.enable({ apis: ['setTimeout'] });
    talk.send({ kind: 'move' });
    assert.equal((await talk.next(2 * HANDOFF_STEP_MS))?.kind, 'moved');
    mock.timers.tick(HANDOFF_STEP_MS);
    assert.equal((await talk.next(2 * HANDOFF_STEP_MS))?.kind, 'refused');
    assert.deepEqual(relay.calls, ['release', 'resume']);
  });

  it('leaves if the other dies after it has taken the database', async () => {
    relay.hasDatabase = false;
    await says({ kind: 'welcome', listeners: ['visitors'] });
    talk.send({ kind: 'move' });
    assert.equal((await talk.next(60_000))?.kind, 'moved');
    talk.destroy();
    await until(() => relay.calls.length === 3);
    assert.deepEqual(relay.calls, ['release', 'resume', 'leave']);
  });
});
