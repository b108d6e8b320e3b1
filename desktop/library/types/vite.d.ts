/** A plugin of Vite (docs/library.md): the public address of the dev server, below Vite's own. */
import type { TunnelOptions } from './index.d.ts';

/** As much of a plugin as Vite needs to know of this one. */
export interface CulvertPlugin {
  readonly name: 'culvert';
  readonly apply: 'serve';
  configureServer(server: object): void;
  closeBundle(): Promise<void>;
}

/** Opens a tunnel to the dev server while it listens. A tunnel that cannot be opened is reported, and Vite goes on. */
export default function culvert(options?: TunnelOptions): CulvertPlugin;
