/** Imported before a program: its clock stands at the moment of SCREENSHOT_TIME, as that of its database does. */
// oxlint-disable-next-line node/no-process-env -- set by whoever starts the program
const at = Date.parse(process.env['SCREENSHOT_TIME']!)

globalThis.Date = new Proxy(Date, {
  construct: (target, given: unknown[], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [at] : given, newTarget as typeof Date) as Date,
  get: (target, name) => (name === 'now' ? () => at : (Reflect.get(target, name) as unknown)),
})
