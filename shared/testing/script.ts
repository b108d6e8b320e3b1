/**
 * Tests as scripts: steps divided by semicolons, each with what happens then, after a colon. Blanks and line breaks
 * count as one blank.
 *
 *     start: connecting, dial; lost: retry 1 in 250; +250: dial
 */
import assert from 'node:assert/strict';

/** @param play takes a step, and returns what happened */
export function checkScript(script: string, play: (step: string) => string): void {
  for (const [step, expected] of stepsOf(script)) assert.equal(shown(step, play(step)), expected);
}

/** As {@link checkScript}, for steps that take more than a turn of the event loop. */
export async function checkAsyncScript(
  script: string,
  play: (step: string) => Promise<string>,
): Promise<void> {
  for (const [step, expected] of stepsOf(script)) assert.equal(shown(step, await play(step)), expected);
}

function stepsOf(script: string): [step: string, expected: string][] {
  const all = script.trim().replaceAll(/\s+/g, ' ').split('; ');
  return all.map((expected) => [expected.split(': ')[0] ?? '', expected]);
}

function shown(step: string, did: string): string {
  return did === '' ? step : `${step}: ${did}`;
}
