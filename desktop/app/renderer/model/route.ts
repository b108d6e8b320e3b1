/** Where in the window the user is. */
export type Route =
  | { readonly screen: 'tunnels' }
  | { readonly screen: 'log'; readonly key: string }
  | { readonly screen: 'request'; readonly key: string; readonly id: number }
  /** a request that is edited to be sent again */
  | { readonly screen: 'edit'; readonly key: string; readonly id: number }
  /** requests that are kept, to be sent to the tunnel */
  | { readonly screen: 'sets'; readonly key: string }
  | { readonly screen: 'settings' }
  | { readonly screen: 'about' };

export interface Place {
  readonly route: Route;
  /** id of the element that had the focus when the user left this screen */
  readonly focus: string | undefined;
  /** whether it was opened beside the list that has the focus, which stays there */
  readonly isBeside: boolean;
}

/** The screens the user came through; the last is the current one. Never empty. */
export type Trail = readonly [Place, ...Place[]];

export const HOME: Trail = [{ route: { screen: 'tunnels' }, focus: undefined, isBeside: false }];

/** The list. @param focus id of the element that gets the focus there */
export function homeAt(focus: string): Trail {
  return [{ ...HOME[0], focus }];
}

export function currentPlace(trail: Trail): Place {
  return trail.at(-1) ?? trail[0];
}

/** A screen that is there already stays as it is. @param focus id of the element that has the focus now */
export function forward(trail: Trail, route: Route, focus: string | undefined): Trail {
  if (isSame(currentPlace(trail).route, route)) return trail;
  return onward(trail, focus, { route, focus: undefined, isBeside: false });
}

/**
 * A request beside the log it is in, in place of one that is there.
 *
 * @param focus id of the element of the log that has the focus, which it keeps
 */
export function beside(
  trail: Trail,
  route: Extract<Route, { screen: 'request' }>,
  focus: string | undefined,
): Trail {
  let below = trail;
  while (isBesideLog(currentPlace(below).route)) below = backward(below);
  const log = forward(below, { screen: 'log', key: route.key }, currentPlace(below).focus);
  return onward(log, focus, { route, focus: undefined, isBeside: true });
}

export function backward(trail: Trail): Trail {
  return trail.length === 1 ? trail : [trail[0], ...trail.slice(1, -1)];
}

/** Whether it is of a tunnel, and not its log. */
function isBesideLog(route: Route): boolean {
  return 'key' in route && route.screen !== 'log';
}

function isSame(one: Route, other: Route): boolean {
  const keyOf = (route: Route): unknown[] => [
    route.screen,
    'key' in route && route.key,
    'id' in route && route.id,
  ];
  const key = keyOf(other);
  return keyOf(one).every((part, index) => part === key[index]);
}

/** @param focus what the place that is left remembers */
function onward(trail: Trail, focus: string | undefined, next: Place): Trail {
  const left = { ...currentPlace(trail), focus };
  const [first, ...rest] = [...trail.slice(0, -1), left];
  return [first ?? left, ...rest, next];
}
