/** What `culvert inspect` can see of this process. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { systemClock } from '../engine/clock.ts';
import { Deadlines } from '../engine/deadlines.ts';
import { Replayer } from '../engine/inspector/replay.ts';
import type { RequestLog } from '../engine/inspector/request-log.ts';
import { InspectorServer } from '../engine/inspector/socket/inspector-server.ts';
import { runtimeFolder } from '../engine/inspector/socket/runtime-folder.ts';
import { LocalDialer } from '../engine/local/local-dialer.ts';
import type { LocalTarget } from '../engine/local/local-target.ts';
import type { Output } from './reporter.ts';

export class Inspection {
  readonly #server: InspectorServer;

  private constructor(server: InspectorServer) {
    this.#server = server;
  }

  /**
   * If nobody can inspect the process, tunnels are served all the same.
   *
   * @returns `undefined` then, after saying why
   */
  static async start(env: NodeJS.ProcessEnv, output: Output): Promise<Inspection | undefined> {
    try {
      const server = new InspectorServer(runtimeFolder(env));
      await server.start();
      process.once('exit', () => server.stop());
      return new Inspection(server);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      output.err(`"culvert inspect" will not find this process: ${why}.\n`);
      return undefined;
    }
  }

  /**
   * Makes the recorded requests of a tunnel available to inspect and to repeat.
   *
   * @returns call it once the tunnel has ended
   */
  show({ id, slug, public_url }: Tunnel, local: LocalTarget, log: RequestLog): () => void {
    const deadlines = new Deadlines(systemClock);
    const replayer = new Replayer(log, new LocalDialer(local, deadlines), deadlines);
    const inspected = {
      id,
      slug,
      publicUrl: public_url,
      log,
      replay: (request: number) => replayer.replay(request),
    };
    this.#server.add(inspected);
    return () => this.#server.remove(inspected);
  }
}
