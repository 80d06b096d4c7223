import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: number | string; arrayValue?: { values: { stringValue?: string }[] } }
}

interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  links?: { traceId: string; spanId: string; attributes?: Attribute[] }[]
}

/** A span as a collector stores it. */
export interface ReceivedSpan extends Omit<SentSpan, 'attributes' | 'links'> {
  attributes: Record<string, unknown>
  links: { traceId: string; spanId: string; attributes: Record<string, unknown> }[]
  service: unknown
}

/** The part of an OpenTelemetry collector that receives traces over OTLP/HTTP as JSON. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = []
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const accepted = request.url === '/v1/traces' && request.headers['content-type'] === 'application/json'
    if (accepted) spans.push(...spansOf(await json(request)))
    response.writeHead(accepted ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
  }
  const server = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function spansOf(body: unknown): ReceivedSpan[] {
  const { resourceSpans } = body as {
    resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: SentSpan[] }[] }[]
  }
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: plain(span.attributes),
        links: (span.links ?? []).map((link) => ({ ...link, attributes: plain(link.attributes ?? []) })),
        service: plain(resource.attributes)['service.name'],
      })),
    ),
  )
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, arrayValue } = value
      if (arrayValue) return [key, arrayValue.values.map((each) => each.stringValue)]
      return [key, stringValue ?? (intValue === undefined ? value : Number(intValue))]
    }),
  )
}
