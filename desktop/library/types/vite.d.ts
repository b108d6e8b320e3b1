/** A Vite plugin (docs/reference/library.md) that prints the public address of the dev server below Vite's own. */
import type { TunnelOptions } from './index.d.ts';

/** The part of Vite's plugin type that this plugin needs. */
export interface CulvertPlugin {
  readonly name: 'culvert';
  readonly apply: 'serve';
  configureServer(server: object): void;
  closeBundle(): Promise<void>;
}

/** Opens a tunnel to the dev server while it listens. If that fails, the plugin reports it and Vite continues. */
export default function culvert(options?: TunnelOptions): CulvertPlugin;
