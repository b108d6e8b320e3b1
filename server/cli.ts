#!/usr/bin/env node
/**
 * The program `culvert-relay`. Whatever Node there is reads this file, so it has no syntax that an old one does not know, and the
 * program itself is loaded once this Node is known to be new enough.
 */
import { nodeProblem } from '../shared/node-version.ts';

const problem = nodeProblem('culvert-relay', process.versions.node);
if (problem === undefined) void import('./cli/program.ts');
else {
  process.stderr.write(problem + '\n');
  process.exitCode = 1;
}
