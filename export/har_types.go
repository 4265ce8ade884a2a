package export

// The members of HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/). Names
// that begin with an underscore are those of mcptap or of Chrome's DevTools, as the
// specification allows.
type (
	harNamed struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Comment string `json:"comment,omitempty"`
	}
	harPage struct {
		Started string   `json:"startedDateTime"`
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		Timings struct{} `json:"pageTimings"`
	}
	harEntry struct {
		Page       string       `json:"pageref"`
		Started    string       `json:"startedDateTime"`
		Time       float64      `json:"time"`
		Request    harRequest   `json:"request"`
		Response   harResponse  `json:"response"`
		Cache      struct{}     `json:"cache"`
		Timings    harTimings   `json:"timings"`
		Connection string       `json:"connection,omitempty"`
		Comment    string       `json:"comment,omitempty"`
		Type       string       `json:"_resourceType,omitempty"`
		Sockets    []harMessage `json:"_webSocketMessages,omitempty"`
		Mcptap     harMcptap    `json:"_mcptap"`
	}
	// harMcptap is the place of an entry in the recording.
	harMcptap struct {
		First    uint64 `json:"first_seq"`
		Last     uint64 `json:"last_seq"`
		Exchange uint64 `json:"exchange,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		Version     string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		Post        *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int64     `json:"bodySize"`
	}
	harPost struct {
		Type    string `json:"mimeType"`
		Text    string `json:"text"`
		Comment string `json:"comment,omitempty"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		Text        string     `json:"statusText"`
		Version     string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		Redirect    string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int64      `json:"bodySize"`
		Error       string     `json:"_error,omitempty"`
	}
	harContent struct {
		Size     int64  `json:"size"`
		Type     string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
		Comment  string `json:"comment,omitempty"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harTimings struct {
		Blocked float64 `json:"blocked"`
		DNS     float64 `json:"dns"`
		Connect float64 `json:"connect"`
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
		SSL     float64 `json:"ssl"`
	}
	harMessage struct {
		Type   string  `json:"type"` // send or receive
		Time   float64 `json:"time"` // in seconds since 1970
		Opcode int     `json:"opcode"`
		Data   string  `json:"data"`
	}
)
