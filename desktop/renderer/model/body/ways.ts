/** The ways in which a body can be shown. */
import type { BodyView } from './body-view.ts';

export type Way = 'json' | 'form' | 'image' | 'pretty' | 'text' | 'html' | 'hex';

/** Those that fit, the best one first. A stranger's page or drawing is shown once it is asked for. */
export function shownWays(view: BodyView): readonly Way[] {
  const isSvg = view.image?.type === 'image/svg+xml';
  const order: readonly Way[] = isSvg
    ? ['text', 'image', 'hex']
    : ['json', 'form', 'image', 'pretty', 'text', 'html', 'hex'];
  return order.filter((way) => way === 'hex' || (way === 'pretty' ? isWhole(view) : view[way] !== undefined));
}

/** Only what is whole can be laid out. */
function isWhole({ json }: BodyView): boolean {
  return json !== undefined && !json.isCut;
}
