/** As much of Trusted Types as the window uses (W3C, https://www.w3.org/TR/trusted-types/); TypeScript does not know them yet. */
declare const trustedTypes: {
  createPolicy(
    name: string,
    rules: { createHTML(text: string): string },
  ): { createHTML(text: string): string };
};
