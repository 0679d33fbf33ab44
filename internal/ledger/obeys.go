package ledger

// Obeys says that what people had decided is in force in the lane: everything in the controls topic below an offset, as it was
// when the record was written. It follows the heads that say what each decision came to.
type Obeys struct {
	Topic [16]byte // id of the controls topic; zero: there is none
	Below int64    // offset in it
	Owner string   // as in the claim
}

// Encode gives the value of the record.
func (o Obeys) Encode() []byte {
	var w writer
	w.bytes(o.Topic[:])
	w.int(o.Below)
	w.str(o.Owner)
	return seal(w.b)
}

// DecodeObeys reads such a value.
func DecodeObeys(value []byte) (Obeys, error) {
	body, err := open(value)
	if err != nil {
		return Obeys{}, err
	}
	r := reader{b: body}
	got := Obeys{Topic: r.id(), Below: r.int(), Owner: r.str()}
	if r.err == nil && got.Below < 0 {
		r.fail(outOfRange)
	}
	return got, r.done()
}
