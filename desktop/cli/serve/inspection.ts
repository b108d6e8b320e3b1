/** What `culvert inspect` can see of this process. */
import { runtimeFolder } from '../../client/inspector/runtime-folder.ts';
import { InspectorServer } from '../../client/inspector/inspector-server.ts';
import type { Output } from '../output/reporter.ts';

/**
 * If nobody can inspect the process, tunnels are served all the same.
 *
 * @returns shows tunnels until it is stopped; `undefined`, after saying why, if that does not work
 */
export async function startInspector(
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<InspectorServer | undefined> {
  try {
    const server = new InspectorServer(runtimeFolder(env));
    await server.start();
    return server;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    output.err(`culvert: "culvert inspect" cannot find this process: ${why}.\n`);
    return undefined;
  }
}
