/** Of a node, as the server makes them. */
export function globalId(typeName: 'Agent' | 'Deployment' | 'Session' | 'Webhook', id: string): string {
  return btoa(`${typeName}:${id}`)
}
