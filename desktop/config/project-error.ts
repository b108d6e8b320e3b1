import { SaidError } from '../engine/said/said.ts';

/** Thrown for a `culvert.yml`, with one line for each problem: the file, the line, the field, and what it takes. */
export class ProjectFileError extends SaidError {}
