import { isTyping } from '../../view/keys.ts';

/**
 * Where in a list a key leads: up and down, or k and j; a page up or down; to the first and the last row. From a text only the
 * arrows up and down lead into the list.
 *
 * @param list whose pane the key has to be pressed in, or nowhere
 * @param from number of the row that has the focus
 * @param perPage rows that fit into view
 * @returns number of a row, which may be beyond the ends; `undefined` for any other key
 */
export function placeAfter(
  event: KeyboardEvent,
  list: HTMLElement | null,
  from: number,
  perPage: number,
): number | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || list === null || !isNear(event, list))
    return undefined;
  switch (event.key) {
    case 'ArrowDown':
      return from + 1;
    case 'ArrowUp':
      return from - 1;
  }
  if (isTyping(event)) return undefined;
  switch (event.key) {
    case 'j':
      return from + 1;
    case 'k':
      return from - 1;
    case 'PageDown':
      return from + perPage;
    case 'PageUp':
      return from - perPage;
    case 'Home':
      return 0;
    case 'End':
      return Infinity;
    default:
      return undefined;
  }
}

/** Arrows belong to what chooses or scrolls by them. */
function isNear({ target }: KeyboardEvent, list: HTMLElement): boolean {
  if (!(target instanceof Element)) return false;
  if (target === document.body || list.contains(target)) return true;
  const isOfPane = list.closest('.screen')?.contains(target) === true;
  return isOfPane && target.matches('input[type=search], h1');
}
