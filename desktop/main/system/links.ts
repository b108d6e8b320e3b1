import type { Channels } from '../../shared/ipc.ts';

/** Where Culvert is at home. The page names a link, and never gives an address. */
export const LINKS: Readonly<Record<Channels['app:open-link']['payload']['link'], string>> = {
  documentation: 'https://culvert.example/docs',
  source: 'https://culvert.example/source',
};
