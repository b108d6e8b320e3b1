/**
 * Loaded by every mocha process (.mocharc.json). When nothing is left to do, the process ends at once: Node 24 otherwise
 * tears down its environment first, and was seen to wait there for ever, using a whole core, for a handle that never closes.
 * A test that leaves something behind still keeps the process alive, because this hook runs only once nothing is left.
 */
process.once('beforeExit', () => process.exit());
