import type { Channels } from '../../shared/ipc.ts';

export type ProjectLinks = Readonly<Record<Channels['app:open-link']['payload']['link'], string>>;

/**
 * Where the links of the window lead. The page names a link, and never gives an address.
 *
 * @param home address of the project's repository, from the app's own package.json
 */
export function projectLinks(home: string, version: string): ProjectLinks {
  return {
    documentation: `${home}/blob/v${version}/docs/desktop.md`,
    source: home,
    releases: `${home}/releases`,
  };
}
