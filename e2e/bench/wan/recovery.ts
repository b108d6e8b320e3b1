/** How long each system takes to respond again after the client was cut off, or has got another address. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from '../../support/child.ts';
import type { Lab } from './lab.ts';

/** A response with status 200 to one of the requests that are made all the time; times in ms since 1970. */
export interface Answer {
  readonly system: string;
  readonly asked: number;
  readonly answered: number;
}

/** A system that does not respond for so many ms is lost. ssh may need two minutes until its server frees the port. */
const LOST_MS = 180_000;

/**
 * @param line an {@link Answer} as JSON
 * @param from when the disturbance began: only requests after that count
 * @param to when it was over
 * @returns s between its end and this response; `undefined` for a response of another system or moment
 */
export function secondsUntil(line: string, system: string, from: number, to: number): number | undefined {
  const answer = JSON.parse(line) as Answer;
  const counts = answer.system === system && answer.asked > from && answer.answered > to;
  return counts ? (answer.answered - to) / 1000 : undefined;
}

/**
 * Disturbs all systems together, while a visitor makes requests through each of them.
 *
 * @param visitor a program that prints every {@link Answer}
 * @param systems those that are to respond again
 * @param cutMs how long the link is cut; without it the client gets another address
 * @returns s for each system, `undefined` for one that was lost
 */
export async function disturb(
  lab: Lab,
  visitor: Child,
  systems: readonly string[],
  cutMs: number | undefined,
): Promise<Map<string, number | undefined>> {
  const untilAnswers = async (from: number, to: number): Promise<Map<string, number | undefined>> => {
    const first = (system: string): Promise<number | undefined> =>
      visitor.line((line) => secondsUntil(line, system, from, to), LOST_MS).catch(() => undefined);
    return new Map(await Promise.all(systems.map(async (system) => [system, await first(system)] as const)));
  };
  await untilAnswers(0, 0);
  const from = Date.now();
  if (cutMs === undefined) lab.move();
  else {
    lab.cut();
    await delay(cutMs);
    lab.mend();
  }
  const result = await untilAnswers(from, Date.now());
  if (cutMs === undefined) {
    lab.move(true);
    await untilAnswers(Date.now(), Date.now());
  }
  await visitor.end();
  return result;
}
