/** As one word of a shell script. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
