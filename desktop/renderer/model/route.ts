/** Where in the window the user is. */
export type Route =
  | { readonly screen: 'tunnels' }
  | { readonly screen: 'log'; readonly key: string }
  | { readonly screen: 'request'; readonly key: string; readonly id: number }
  | { readonly screen: 'settings' }
  | { readonly screen: 'about' };

export interface Place {
  readonly route: Route;
  /** id of the element that had the focus when the user left this screen */
  readonly focus: string | undefined;
  /** what is typed in the search of the screen */
  readonly search: string;
}

/** The screens the user came through; the last is the current one. Never empty. */
export type Trail = readonly [Place, ...Place[]];

export const HOME: Trail = [{ route: { screen: 'tunnels' }, focus: undefined, search: '' }];

export function currentPlace(trail: Trail): Place {
  return trail.at(-1) ?? trail[0];
}

/** @param focus id of the element that has the focus now */
export function forward(trail: Trail, route: Route, focus: string | undefined): Trail {
  return [...changed(trail, { focus }), { route, focus: undefined, search: '' }];
}

/**
 * Typing moves the focus, so the remembered focus no longer counts.
 *
 * @param search what is typed in the search of the screen now
 */
export function searching(trail: Trail, search: string): Trail {
  return changed(trail, { search, focus: undefined });
}

export function backward(trail: Trail): Trail {
  return trail.length === 1 ? trail : [trail[0], ...trail.slice(1, -1)];
}

function changed(trail: Trail, change: Partial<Place>): Trail {
  const [first, ...rest] = trail.map((place, index) =>
    index === trail.length - 1 ? { ...place, ...change } : place,
  );
  return [first ?? trail[0], ...rest];
}
