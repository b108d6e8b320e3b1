/** Where in the window the user is. */
export type Route =
  | { readonly screen: 'tunnels' }
  | { readonly screen: 'log'; readonly key: string }
  | { readonly screen: 'request'; readonly key: string; readonly id: number }
  | { readonly screen: 'settings' }
  | { readonly screen: 'about' };

export interface Place {
  readonly route: Route;
  /** id of the element that had the focus when the user went on from here */
  readonly focus: string | undefined;
}

/** Where the user came along; the last is where they are. Never empty. */
export type Trail = readonly [Place, ...Place[]];

export const HOME: Trail = [{ route: { screen: 'tunnels' }, focus: undefined }];

export function currentRoute(trail: Trail): Route {
  return (trail.at(-1) ?? trail[0]).route;
}

/** @param focus id of the element that has the focus now */
export function forward(trail: Trail, route: Route, focus: string | undefined): Trail {
  const [first, ...rest] = trail.map((place, index) =>
    index === trail.length - 1 ? { ...place, focus } : place,
  );
  return [first ?? trail[0], ...rest, { route, focus: undefined }];
}

export function backward(trail: Trail): Trail {
  return trail.length === 1 ? trail : [trail[0], ...trail.slice(1, -1)];
}
