/** What `culvert inspect` can see of this process. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import { type InspectedTunnel, InspectorServer } from '../../engine/inspector/socket/inspector-server.ts';
import { runtimeFolder } from '../../engine/inspector/socket/runtime-folder.ts';
import type { Output } from '../reporter.ts';

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
  show(
    { id, slug, public_url }: Tunnel,
    { replayer, log, host }: Pick<InspectedTunnel, 'replayer' | 'log' | 'host'>,
  ): () => void {
    const inspected = { id, slug, publicUrl: public_url, log, replayer, host };
    this.#server.add(inspected);
    return () => this.#server.remove(inspected);
  }
}
