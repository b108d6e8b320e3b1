/** All texts of a part of the app in another language: none missing, none too many. */
export type Translation<Texts> = { readonly [Key in keyof Texts]: string };
