/** Visitors who wait to be let in: the one that has waited longest is shown, and answered with a key. */
import type { KnockMessage } from '../../../shared/control.ts';
import { escapeVisitorText } from '../visitor-text.ts';
import type { PanelState } from './state.ts';
import { type Line, span } from './text.ts';

export interface NextKnock {
  /** index of its tunnel */
  readonly panel: number;
  readonly knock: KnockMessage;
  /** visitors who wait besides */
  readonly others: number;
}

export function nextKnock(panels: readonly PanelState[]): NextKnock | undefined {
  const waiting = panels.flatMap(({ knocks }, panel) => knocks.map((knock) => ({ panel, ...knock })));
  const [first] = waiting.toSorted((a, b) => a.since - b.since);
  return first && { panel: first.panel, knock: first.knock, others: waiting.length - 1 };
}

/** What matters most is first, because the line is cut where the window ends. */
export function knockLine(
  { panel, knock, others }: NextKnock,
  panels: readonly PanelState[],
  hasKeys: boolean,
): Line {
  const { label, tunnel } = panels[panel] ?? {};
  const where = label === undefined ? '' : ` at ${label}`;
  const answer = hasKeys
    ? 'a admits for an hour, x refuses.'
    : `"culvert knock ${tunnel?.slug ?? ''} ${knock.id} --admit" or --refuse answers.`;
  const more = others === 0 ? '' : ` ${others} more ${others === 1 ? 'waits' : 'wait'}.`;
  return [
    span(`? ${knock.address} knocks${where}: `, 'warning'),
    span(`${answer}${more}`, 'strong'),
    span(knock.agent === '' ? '' : ` ${escapeVisitorText(knock.agent)}`, 'dim'),
  ];
}
