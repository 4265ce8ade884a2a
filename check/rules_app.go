package check

import (
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// rulesApp are about MCP Apps.
var rulesApp = []Rule{
	{
		ID: "app-01", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text:   "A ui:// resource is returned with the mimeType text/html;profile=mcp-app.",
		Source: "ext-apps:specification/2026-01-26/apps#ui-resource-format",
		Fix:    "Set the MIME type exactly.",
		New: each(func(m *Message, v *Verdict) {
			eachContents(m, func(c jsonrpc.Value, path string) { // see feat-13 for text and blob
				if strings.HasPrefix(c.Get("uri").Decoded(), "ui://") {
					kind := c.Get("mimeType")
					v.Check(kind.Decoded() == "text/html;profile=mcp-app", m.Subject(), path+".mimeType", describe(kind))
				}
			})
		}, "result resources/read"),
	},
	{
		ID: "app-02", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text:   "The resource that a tool names in _meta.ui.resourceUri has a ui:// URI, and can be read.",
		Source: "ext-apps:specification/2026-01-26/apps#resource-discovery",
		Fix:    "Register the resource under that URI.",
		New:    resourceOfTool,
	},
	{
		ID: "app-03", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   `A tool uses the flat key "ui/resourceUri" in _meta, which is deprecated.`,
		Source: "ext-apps:specification/2026-01-26/apps#resource-discovery",
		Fix:    "Use _meta.ui.resourceUri.",
		New: eachDefinition(func(m *Message, d definition, v *Verdict) {
			if uri := d.Get("_meta", "ui/resourceUri"); uri != nil {
				v.Violate(d.name, d.path+"._meta", "the flat key ui/resourceUri: "+string(uri))
			}
		}, "result tools/list"),
	},
	{
		ID: "app-04", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text:   "A tool with a UI also returns content: not an empty array.",
		Source: "ext-apps:specification/2026-01-26/apps#client-server-capability-negotiation",
		Fix:    "Return a text for clients without a UI.",
		New: each(func(m *Message, v *Verdict) {
			content := m.Member("content")
			if uiOf(m.tool()) == nil || !m.final() || !content.IsArray() {
				return // see feat-04
			}
			v.Check(!isEmpty(content), m.Subject(), "$.result.content", "[]")
		}, "result tools/call"),
	},
	{
		ID: "app-05", Class: "should", In: "A-E", Side: "server", Transport: "any",
		Text:   "Tools with a UI are offered only to a client that declared the extension io.modelcontextprotocol/ui.",
		Source: "ext-apps:specification/2026-01-26/apps#client-server-capability-negotiation",
		Fix:    "Check the client's extensions before listing the tool with a UI.",
		New: each(func(m *Message, v *Verdict) {
			client := m.Session.Client
			if own := m.Request.Params.Get("_meta", jsonrpc.MetaPrefix+"clientCapabilities"); own != nil {
				client = own
			}
			eachIn(m, func(d definition) {
				switch {
				case uiOf(d.Value) == nil:
				case client == nil:
					v.Skip("the client's capabilities are not known")
				default:
					v.Check(declares(client, "extensions", extensionUI), d.name, d.path+"._meta", "the client did not declare the extension")
				}
			})
		}, "result tools/list"),
	},
	{
		ID: "app-06", Class: "must", In: "A-E", Side: "client", Transport: "any",
		Text:   "The settings of io.modelcontextprotocol/ui have an array mimeTypes.",
		Source: "ext-apps:specification/2026-01-26/apps#client-server-capability-negotiation",
		Fix:    `Write "mimeTypes":["text/html;profile=mcp-app"].`,
		New: each(func(m *Message, v *Verdict) {
			path, capabilities := "$.params.capabilities", m.Param("capabilities")
			if m.Method != "initialize" {
				path, capabilities = metaClientCapabilities, metaOf(m.Param("_meta"), "clientCapabilities")
			}
			if settings := capabilities.Get("extensions", extensionUI); settings != nil {
				v.clean(func() {
					v.need(settings.Get("mimeTypes"), anArray, extensionUI, path+".extensions"+member(extensionUI)+".mimeTypes")
				})
			}
		}, "request"),
	},
}

// metaClientCapabilities is the path of the client capabilities in a request of 2026-07-28.
const metaClientCapabilities = `$.params._meta["` + jsonrpc.MetaPrefix + `clientCapabilities"]`

const extensionUI = jsonrpc.MetaPrefix + "ui"

// uiOf returns the URI of the UI of a tool, nil if it has none.
func uiOf(tool jsonrpc.Value) jsonrpc.Value {
	meta := tool.Get("_meta")
	if uri := meta.Get("ui", "resourceUri"); uri != nil {
		return uri
	}
	return meta.Get("ui/resourceUri")
}

// resourceOfTool judges app-02.
func resourceOfTool(*Session) Hooks {
	tools := bounded.Map[string, string]{Max: 256} // names of tools, by the URI of their UI
	return Hooks{On: []string{"result tools/list", "result resources/read", "error resources/read"}, Message: func(m *Message, v *Verdict) {
		if m.Request.Method == "tools/list" {
			eachIn(m, func(d definition) {
				value := uiOf(d.Value)
				if value == nil || isMasked(value) {
					return
				}
				if uri := value.Decoded(); strings.HasPrefix(uri, "ui://") {
					tools.Put(strings.Clone(uri), strings.Clone(d.name))
				} else {
					v.Violate(d.name, d.path+"._meta.ui.resourceUri", string(value))
				}
			})
			return
		}
		tool, ok := tools.Get(m.Request.Param("uri").Decoded())
		switch {
		case !ok:
		case m.Kind == jsonrpc.Response:
			v.Hold()
		case m.ErrorCode == "-32002" || m.ErrorCode == "-32602" || m.ErrorCode == "-32601":
			v.Violate(tool, "$.error.code", "its UI cannot be read: "+m.ErrorCode)
		default:
			v.Skip("whether the resource exists is not known")
		}
	}}
}
