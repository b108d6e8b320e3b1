/** Visitors who attack the relay over HTTP/2, beside others who use it properly. */
import assert from 'node:assert/strict';
import { Authority } from '../../support/certificates.ts';
import { eventually } from '../../support/deadline.ts';
import {
  block,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameConnection,
  FRAMES,
  openHttp2,
  request,
} from '../../support/http2.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { suiteScope } from '../../support/scope.ts';
import { startSite } from '../../support/services/echo.ts';
import { attackBeside, Faults, SEED, watchMemory } from './attack.ts';

/** Connections with each attack at a time. */
const AT_A_TIME = 2;
/** Frames that a flood consists of, in pieces of as many frames. */
const FLOOD_PIECES = 300;
const PIECE_FRAMES = 100;
const RANDOM_FRAMES = 300;
const UNREAD_DOWNLOADS = 100;
/** Bytes of unread downloads that must have arrived before the visitor leaves. */
const UNREAD_BYTES = 100_000;
const GROWTH_MIB = 250;
/** ms after which the relay has closed all connections that flooded it, also on a busy machine. */
const CALM_MS = 30_000;

/** Makes the next frame. `id` is the next odd number, and `head` makes the block of a request. */
type Next = (id: number, head: (path?: string) => Buffer) => Buffer;

/** Floods after which the relay has to end the connection. */
const FLOODS: Readonly<Record<string, Next>> = {
  pings: () => frame(FRAMES.ping, 0, 0, Buffer.alloc(8)),
  settings: () => frame(FRAMES.settings, 0, 0),
  'opened and reset streams': (id, head) =>
    Buffer.concat([
      frame(FRAMES.headers, END_HEADERS | END_STREAM, id, head()),
      frame(FRAMES.reset, 0, id, Buffer.from([0, 0, 0, 8])),
    ]),
  'empty DATA': (id, head) =>
    id === 1 ? frame(FRAMES.headers, END_HEADERS, 1, head()) : frame(FRAMES.data, 0, 1),
  'malformed requests': (id) =>
    frame(FRAMES.headers, END_HEADERS | END_STREAM, id, block([[':method', 'GET']])),
  'a head without an end': (id, head) =>
    id === 1
      ? frame(FRAMES.headers, 0, 1, head())
      : frame(FRAMES.continuation, 0, 1, block([[`x-${id}`, 'a'.repeat(100)]])),
};

describe('HTTP/2 connections of attackers', () => {
  const scope = suiteScope();

  it(`are ended or borne, ${AT_A_TIME} of each kind at a time, while other visitors are served`, async () => {
    const authority = new Authority(scope);
    const { cert, key } = authority.issue('*.tunnels.test');
    const settings = { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key, CULVERT_TUNNEL_DOMAIN: 'tunnels.test' };
    const relay = await Relay.start(scope, settings);
    const { port } = await startSite(scope);
    const trust = { NODE_EXTRA_CA_CERTS: authority.path };
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, port, [], trust);
    const servername = `${tunnel.slug}.tunnels.test`;
    const host = `${servername}:${relay.port}`;
    const target = { port: relay.port, ca: authority.pem, servername };
    const session = await openHttp2(scope, target);
    const faults = new Faults();

    const head = (path = '/'): Buffer =>
      block([
        [':method', 'GET'],
        [':scheme', 'https'],
        [':authority', host],
        [':path', path],
      ]);
    /** Sends frames as fast as the connection takes them, as long as it is open. */
    async function flood(connection: FrameConnection, pieces: number, next: Next): Promise<void> {
      let id = -1;
      for (let piece = 0; piece < pieces && !connection.closed; piece += 1) {
        const frames = Array.from({ length: PIECE_FRAMES }, () => next((id += 2), head));
        connection.write(Buffer.concat(frames));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const attacks: Record<string, (connection: FrameConnection, random: Random) => Promise<void>> = {
      ...Object.fromEntries(
        Object.entries(FLOODS).map(([what, next]) => [
          what,
          async (connection: FrameConnection) => {
            // It reads nothing, so that responses pile up.
            connection.socket.pause();
            await flood(connection, FLOOD_PIECES, next);
            connection.socket.resume();
            await eventually(CALM_MS, () => assert.ok(connection.closed, `${what} are borne`));
          },
        ]),
      ),
      priorities: (connection) =>
        flood(connection, FLOOD_PIECES, (id) => frame(FRAMES.priority, 0, id, Buffer.from([0, 0, 0, 0, 1]))),
      'downloads that are not read': async (connection) => {
        // All windows are as large as possible.
        connection.write(frame(FRAMES.settings, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])));
        connection.write(frame(FRAMES.windowUpdate, 0, 0, Buffer.from([0x7f, 0xfe, 0, 0])));
        for (let count = 0; count < UNREAD_DOWNLOADS; count += 1)
          connection.write(
            frame(FRAMES.headers, END_HEADERS | END_STREAM, 2 * count + 1, head('/bytes/20000000')),
          );
        await eventually(CALM_MS, () => assert.ok(connection.socket.bytesRead > UNREAD_BYTES));
        connection.socket.pause();
        // By the end of another download, everything that the relay buffers for this one has come.
        const { status } = await request(session, { ':path': '/bytes/5000000', ':authority': host });
        assert.equal(status, 200);
        connection.socket.destroy();
      },
      'random frames': async (connection, random) => {
        for (let count = 0; count < RANDOM_FRAMES && !connection.closed; count += 1) {
          const payload = random.below(2) === 0 ? head() : Buffer.alloc(random.below(64), random.below(256));
          for (let left = random.below(4); left > 0 && payload.length > 0; left -= 1)
            payload[random.below(payload.length)] = random.below(256);
          const stream = random.below(3) === 0 ? random.below(20) : 2 * count + 1;
          connection.write(frame(random.below(11), random.below(256), stream, payload));
          await new Promise((resolve) => setImmediate(resolve));
        }
        connection.socket.destroy();
      },
    };

    let asked = 0;
    const visitor = {
      served: 0,
      async ask(after: string): Promise<void> {
        const path = `/own-${(asked += 1)}`;
        const { status, text } = await request(session, { ':path': path, ':authority': host });
        if (status === 200 && (JSON.parse(text) as { url: string }).url === path) this.served += 1;
        else faults.add('unserved', `${after}, ${path}: ${status} ${text.slice(0, 200)}`);
      },
    };
    const assertGrowth = watchMemory(scope, relay);
    await attackBeside(
      relay,
      visitor,
      Object.entries(attacks).map(([what, attack], index) => [
        what,
        async (part) => {
          const open = Array.from({ length: AT_A_TIME }, () => FrameConnection.open(part, target));
          const connections = await Promise.all(open);
          await Promise.all(
            connections.map((connection, at) => attack(connection, new Random(SEED, index, at))),
          );
        },
      ]),
    );
    faults.assertNone();
    assertGrowth(GROWTH_MIB);
  });
});
