import { API } from './list/api.ts';
import { BROWSERS } from './list/browsers.ts';
import { CERTIFICATES } from './list/certificates.ts';
import { EDGE } from './list/edge.ts';
import { DOMAINS } from './list/domains.ts';
import { ENGINE } from './list/engine.ts';
import { GATE } from './list/gate.ts';
import { HANDLERS } from './list/handlers.ts';
import { LINK } from './list/link.ts';
import { MAIN } from './list/main.ts';
import { MESSAGES } from './list/messages.ts';
import { PAGE } from './list/page.ts';
import { PRELOAD } from './list/preload.ts';
import { RENDERER } from './list/renderer.ts';
import { SHARE } from './list/share.ts';
import { TRUNK } from './list/trunk.ts';
import { TUNNELS } from './list/tunnels.ts';
import type { Mutation } from './mutation.ts';

/** Every break, each of which a careless change could make. */
export const MUTATIONS: readonly Mutation[] = [
  ...RENDERER,
  ...PRELOAD,
  ...HANDLERS,
  ...MAIN,
  ...ENGINE,
  ...PAGE,
  ...EDGE,
  ...MESSAGES,
  ...BROWSERS,
  ...GATE,
  ...LINK,
  ...TRUNK,
  ...TUNNELS,
  ...DOMAINS,
  ...API,
  ...CERTIFICATES,
  ...SHARE,
];
