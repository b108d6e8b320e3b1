/** The user's position in the window. */
export type Route =
  | { readonly screen: 'tunnels' }
  | { readonly screen: 'log'; readonly key: string }
  | { readonly screen: 'request'; readonly key: string; readonly id: number }
  /** an editor to send a request again */
  | { readonly screen: 'edit'; readonly key: string; readonly id: number }
  | { readonly screen: 'settings' }
  | { readonly screen: 'about' };

export interface Place {
  readonly route: Route;
  /** id of the element with the focus when the user left this screen */
  readonly focus: string | undefined;
  /** whether it was opened beside the list that keeps the focus */
  readonly isBeside: boolean;
}

/** The screens that the user has passed; the last is the current one. Never empty. */
export type Trail = readonly [Place, ...Place[]];

export const HOME: Trail = [{ route: { screen: 'tunnels' }, focus: undefined, isBeside: false }];

/** The list. @param focus id of the element to focus there */
export function homeAt(focus: string): Trail {
  return [{ ...HOME[0], focus }];
}

/** The log of a tunnel, one step from the list. @param focus id of the element to focus there */
export function logAt(key: string, focus?: string): Trail {
  return [
    { ...HOME[0], focus: `log-${key}` },
    { route: { screen: 'log', key }, focus, isBeside: false },
  ];
}

export function currentPlace(trail: Trail): Place {
  return trail.at(-1) ?? trail[0];
}

/** Opens a screen, unless it is already open. @param focus id of the element with the focus now */
export function forward(trail: Trail, route: Route, focus: string | undefined): Trail {
  if (isSame(currentPlace(trail).route, route)) return trail;
  return onward(trail, focus, { route, focus: undefined, isBeside: false });
}

/**
 * Opens a request beside its log, replacing another one.
 *
 * @param focus id of the element of the log that has and keeps the focus
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

/** Shows another screen instead of the current one, if that is `from`. @param focus id of the element to focus there */
export function instead(trail: Trail, from: Route, to: Route, focus: string): Trail {
  if (!isSame(currentPlace(trail).route, from)) return trail;
  const place: Place = { route: to, focus, isBeside: false };
  return trail.length === 1 ? [place] : [trail[0], ...trail.slice(1, -1), place];
}

/** Whether it is a screen of a tunnel other than its log. */
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

/** @param focus what the current place should remember */
function onward(trail: Trail, focus: string | undefined, next: Place): Trail {
  const left = { ...currentPlace(trail), focus };
  const [first, ...rest] = [...trail.slice(0, -1), left];
  return [first ?? left, ...rest, next];
}
